/** The public exports of @gpuaas/sdk. */
export * from './api.gen.ts';
export { certificateText } from './certificate-text.ts';
export {
  type ApiResponse,
  type CallId,
  type CallOptions,
  type Client,
  type ClientOptions,
  createClient,
  type RawRequest,
  type StreamOptions,
} from './client.ts';
export { GpuaasError, type GpuaasErrorCode } from './error.ts';
export { type Permission, ROLES, type RoleName } from './roles.gen.ts';
export {
  type ConnectOptions,
  connect,
  type OpenStreamOptions,
  openStream,
  type SessionInfo,
  type SessionStream,
  type StreamEnd,
} from './session-stream.ts';
export { sshKeyNameFrom } from './ssh-key-name.ts';
export { readSshPublicKey, SSH_RSA_BITS_MIN, type SshPublicKeyReading } from './ssh-public-key.gen.ts';
export type { SessionEndReason, SessionKind } from './stream.gen.ts';
export type { RetryOptions, TokenProvider } from './transport.ts';
export * from './values.gen.ts';
export { type WaitOptions, wait } from './wait.ts';
export { type CertificateVerdict, isSignedCertificate, verifyWipeCertificate } from './wipe-certificate.ts';
export { newIdempotencyKey } from './wire.ts';
