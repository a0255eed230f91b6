/**
 * The definition of an operation. One value gives the router its route, the pipeline its permission, audit action and
 * idempotency rule, the compiler the handler's type, and the emitter its OpenAPI section.
 */
import type { Static, TObject, TSchema } from 'typebox';
import type { ErrorCode } from './errors.ts';
import type { Permission } from './roles.ts';

/** Which id in the path bounds the request. `self` is the caller, `public` needs no sign-in. */
export type Access = 'public' | 'self' | 'tenant' | 'project' | 'platform';

export type Operation = Readonly<{
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  path: `/${string}`;
  tag: string;
  summary: string;
  description?: string;
  access: Access;
  permission: Permission | null;
  /** The audit action of a mutation, `noun.verb`; null for reads. Every non-GET operation has one or states why not in `description`. */
  audit: string | null;
  /** `required`: the Idempotency-Key header must be there. `none`: the operation is safe to repeat or issues something single-use. */
  idempotency: 'required' | 'none';
  /** The response carries a secret that is shown once: the stored replay is encrypted and the body is never logged. */
  secret?: true;
  /**
   * An operator must have signed in a short time ago (RFC 9470): a stolen session must not be enough. It concerns callers
   * with a platform role only. An operator's change without it gives its reason in `fresh-sign-in.test.ts`.
   */
  freshSignIn?: true;
  /** Optimistic concurrency: the resource has a `version`, returned as ETag and required in If-Match. */
  ifMatch?: true;
  params?: TObject;
  query?: TObject;
  body?: TObject;
  /** Media type of the body where it is not application/json. */
  bodyType?: 'application/x-www-form-urlencoded';
  status: 200 | 201 | 202 | 204;
  response: TSchema | null;
  /** The path of the created or started resource: `{…}` is a path parameter, or a field of the response. */
  location?: `/${string}`;
  /** Streams are written incrementally: JSON lines, or server-sent events. */
  stream?: 'application/jsonl' | 'text/event-stream';
  /** Errors beyond those of every operation of its kind. */
  errors?: readonly ErrorCode[];
}>;

export type Api = Readonly<Record<string, Operation>>;

/** Keeps each operation's literal types while checking it against `Operation`. */
export const define = <const T extends Api>(api: T): T => api;

type Part<O, K extends 'params' | 'query' | 'body'> = O extends { readonly [P in K]: infer S extends TSchema }
  ? Static<S>
  : Record<string, never>;

export type RequestOf<O extends Operation> = Readonly<{
  params: Part<O, 'params'>;
  query: Part<O, 'query'>;
  body: Part<O, 'body'>;
  /** The version named by If-Match; present when the operation declares `ifMatch`. */
  if_match: O extends { readonly ifMatch: true } ? number : undefined;
  /** Last-Event-ID of a reconnecting event stream. */
  last_event_id: string | undefined;
}>;

type Body<O extends Operation> = O['response'] extends TSchema ? Static<O['response']> : undefined;
export type ResponseOf<O extends Operation> = O extends { readonly stream: string } ? AsyncIterable<Body<O>> : Body<O>;

/** One key per operation: reads get `Read`, audited mutations get `Write`. A missing or extra handler does not compile. */
export type Handlers<A extends Api, Read, Write> = {
  readonly [K in keyof A]: (
    ctx: A[K]['audit'] extends string ? Write : Read,
    req: RequestOf<A[K]>,
  ) => Promise<ResponseOf<A[K]>>;
};

/** The path of the result: `location` with its `{…}` filled from the path, otherwise from the response. */
export const locationOf = (
  { location }: Pick<Operation, 'location'>,
  params: Readonly<Record<string, string>>,
  response: unknown,
): string | undefined =>
  location?.replaceAll(/\{([\w.]+)\}/g, (_, name: string) => {
    const field = name.split('.').reduce<unknown>((value, key) => (value as Record<string, unknown>)[key], response);
    return params[name] ?? String(field);
  });

export const isMutation = (operation: Operation): boolean => operation.audit !== null;
