/** The binding of each sealed value: in any other place it does not open. */
type ResponseKey = Readonly<{ tenant: string; principal_id: string; operation: string; key: string }>;

export const SEALED_TO = {
  trust_key: (id: string): string => `trust_keys/${id}`,
  oidc_signing_key: (kid: string): string => `oidc_signing_keys/${kid}`,
  oidc_record: (model: string, idHash: Buffer): string => `oidc_records/${model}/${idHash.toString('hex')}`,
  id_token: (webSessionId: string): string => `web_sessions/${webSessionId}/id_token`,
  /** A sealed response opens only for its own request. */
  response: (id: ResponseKey): string => [id.tenant, id.principal_id, id.operation, id.key].join('\0'),
  /** Stored in a cookie for minutes, and in no table. */
  pending_sign_in: 'web sign-in',
  /** The same in every table that carries it, so it moves between them without being opened. */
  user_data: (allocationId: string): string => `allocations/${allocationId}/user_data`,
  recording: (sessionId: string, part: number): string => `terminal_sessions/${sessionId}/recording/${part}`,
  platform_secret: (name: string): string => `platform_secrets/${name}`,
} as const;
