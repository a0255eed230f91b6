/** The part of oidc-provider that we use; the package ships no types. */
declare module 'oidc-provider' {
  import type { IncomingMessage, ServerResponse } from 'node:http';

  export type Payload = Record<string, unknown>;

  export interface Adapter {
    upsert(id: string, payload: Payload, expiresIn?: number): Promise<void>;
    find(id: string): Promise<Payload | undefined>;
    findByUid(uid: string): Promise<Payload | undefined>;
    findByUserCode(userCode: string): Promise<Payload | undefined>;
    consume(id: string): Promise<void>;
    destroy(id: string): Promise<void>;
    revokeByGrantId(grantId: string): Promise<void>;
  }

  export interface Client {
    readonly clientId: string;
    readonly clientName?: string;
    readonly redirectUris: readonly string[];
    grantTypeAllowed(type: string): boolean;
    redirectUriAllowed(uri: string): boolean;
    postLogoutRedirectUriAllowed(uri: string): boolean;
  }

  export interface Account {
    readonly accountId: string;
    claims(): Promise<{ sub: string } & Payload>;
  }

  export interface Grant {
    readonly jti: string;
    readonly accountId: string;
    addOIDCScope(scope: string): void;
    addResourceScope(resource: string, scope: string): void;
    save(): Promise<string>;
  }

  export interface Session {
    readonly accountId?: string;
    readonly state?: { secret: string; postLogoutRedirectUri?: string };
    grantIdFor(clientId: string): string | undefined;
  }

  export interface ResourceServerInfo {
    audience: string;
    scope: string;
    accessTokenTTL: number;
    accessTokenFormat: 'jwt';
    jwt: { sign: { alg: string } };
  }

  export interface Token {
    readonly accountId?: string;
    readonly clientId: string;
    readonly expiration: number;
    scope?: string;
    resourceServer?: object;
    save(): Promise<string>;
  }

  export interface DeviceCode {
    readonly clientId: string;
    readonly accountId?: string;
    readonly error?: string;
    readonly inFlight?: boolean;
    readonly isExpired: boolean;
    readonly deviceInfo?: DeviceInfo;
  }

  export interface DeviceInfo {
    readonly ip: string;
    readonly ua: string;
  }

  export interface Interaction {
    readonly uid: string;
    readonly prompt: { name: string; details: Payload };
    readonly params: { client_id: string; redirect_uri?: string; login_hint?: string; scope?: string };
    readonly session?: { accountId: string };
    readonly deviceCode?: string;
  }

  export interface Context {
    readonly req: IncomingMessage;
    readonly res: ServerResponse;
    readonly method: string;
    readonly path: string;
    readonly query: Readonly<Record<string, string | string[] | undefined>>;
    readonly state: Record<string, unknown>;
    readonly cookies: { get(name: string): string | undefined };
    status: number;
    type: string;
    body: unknown;
    url: string;
    accepts(...types: string[]): string | false;
    get(header: string): string;
    set(header: string, value: string): void;
    redirect(url: string): void;
    respond?: boolean;
    readonly oidc?: OidcContext;
  }

  /** A grant's record of the sign-in behind it, in seconds since 1970. */
  interface SignedIn {
    readonly authTime?: number;
  }

  export interface OidcContext {
    readonly provider: Provider;
    readonly route: string;
    readonly client: Client;
    readonly session: Session;
    readonly params: Readonly<Record<string, string | undefined>>;
    readonly entities: Readonly<
      { Interaction?: Interaction } & Partial<Record<'AuthorizationCode' | 'DeviceCode' | 'RefreshToken', SignedIn>>
    >;
    readonly result?: { consent?: { grantId?: string } };
    entity(name: string, value: unknown): void;
  }

  export type OidcRequest = Context & { readonly oidc: OidcContext };
  export type Next = () => Promise<void>;

  interface Finder<T> {
    find(id: string): Promise<T | undefined>;
  }

  export class Provider {
    constructor(issuer: string, configuration: Payload);
    readonly issuer: string;
    /** Koa's prototypes of every request and context of this application. */
    readonly request: object;
    readonly context: object;
    silent: boolean;
    readonly Client: Finder<Client> & { readonly prototype: Client };
    readonly Grant: Finder<Grant> & { new (payload: { accountId: string; clientId: string }): Grant };
    readonly DeviceCode: {
      findByUserCode(code: string, options?: { ignoreExpiration: boolean }): Promise<DeviceCode | undefined>;
    };
    readonly AccessToken: new (
      payload: Payload,
    ) => Token;
    readonly RefreshToken: new (
      payload: Payload,
    ) => Token;
    readonly ResourceServer: new (
      identifier: string,
      info: ResourceServerInfo,
    ) => object;
    callback(): (req: IncomingMessage, res: ServerResponse) => Promise<void>;
    use(middleware: (ctx: Context, next: Next) => Promise<void>): this;
    on(event: 'error', listener: (err: Error) => void): this;
    on(event: 'server_error', listener: (ctx: Context, err: Error) => void): this;
    on(event: string, listener: (ctx: Context, err: Error & { error_detail?: string }) => void): this;
    registerGrantType(name: string, handler: (ctx: OidcRequest) => Promise<void>, parameters: readonly string[]): void;
    interactionDetails(req: IncomingMessage, res: ServerResponse): Promise<Interaction>;
    interactionResult(
      req: IncomingMessage,
      res: ServerResponse,
      result: Payload,
      options?: { mergeWithLastSubmission: boolean },
    ): Promise<string>;
  }

  interface OidcError extends Error {
    statusCode: number;
    expose: boolean;
    error_description?: string;
  }
  export const errors: {
    OIDCProviderError: new (status: number, message: string) => OidcError;
    CustomOIDCProviderError: new (code: string, description: string) => OidcError;
    InvalidGrant: new (detail: string) => OidcError;
    InvalidTarget: new () => OidcError;
    SessionNotFound: new (description: string) => OidcError;
  };
}
