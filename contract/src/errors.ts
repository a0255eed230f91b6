/**
 * The closed list of error codes, each with its status and whether the same request may succeed later unchanged. A code
 * exists only if a program must act differently on it. `help` is the last sentence that a user reads.
 */
export const ERRORS = {
  invalid_request: {
    status: 400,
    retryable: false,
    title: 'Invalid request',
    help: 'Correct the fields named in errors[] and send the request again.',
  },
  idempotency_key_missing: {
    status: 400,
    retryable: false,
    title: 'Idempotency key missing',
    help: 'Send an Idempotency-Key header of 8 to 128 characters and reuse the same value when you retry.',
  },
  unauthenticated: {
    status: 401,
    retryable: false,
    title: 'Not signed in',
    help: 'Sign in again (`gpuaas login`) or send a valid bearer token.',
  },
  fresh_sign_in_required: {
    status: 401,
    retryable: false,
    title: 'Fresh sign-in required',
    help: 'Sign in again (`gpuaas login --fresh`) and repeat the request with the same Idempotency-Key. A program needs an API token with the scope `fresh_sign_in`.',
  },
  permission_denied: {
    status: 403,
    retryable: false,
    title: 'Permission denied',
    help: 'Ask an owner or admin of the organization for a role with this permission. Roles of operators are granted by a superadmin.',
  },
  policy_denied: {
    status: 403,
    retryable: false,
    title: 'Forbidden by policy',
    help: 'Ask an owner of the organization, or an operator, to change the policy.',
  },
  not_found: {
    status: 404,
    retryable: false,
    title: 'Not found',
    help: 'Check the ID, and the project or organization.',
  },
  method_not_allowed: {
    status: 405,
    retryable: false,
    title: 'Method not allowed',
    help: 'See /docs for the methods of this path.',
  },
  request_timeout: {
    status: 408,
    retryable: true,
    title: 'Request timed out',
    help: 'The request arrived too slowly. Retry.',
  },
  conflict: {
    status: 409,
    retryable: false,
    title: 'Conflict with current state',
    help: 'Fix the stated cause, then retry.',
  },
  already_exists: {
    status: 409,
    retryable: false,
    title: 'Already exists',
    help: 'Use the existing resource or another name.',
  },
  idempotency_in_flight: {
    status: 409,
    retryable: true,
    title: 'Same request still running',
    help: 'Wait a moment and retry with the same Idempotency-Key.',
  },
  insufficient_capacity: {
    status: 409,
    retryable: true,
    title: 'No capacity fits',
    help: 'See reasons[] for why GPUs are unavailable and alternatives[] for what fits now.',
  },
  quota_exceeded: {
    status: 409,
    retryable: false,
    title: 'Quota exceeded',
    help: 'Release an allocation, or request a larger limit: `gpuaas quota request`.',
  },
  limit_exceeded: {
    status: 409,
    retryable: false,
    title: 'Limit exceeded',
    help: 'Remove what you no longer need, or ask an operator to raise the limit. The limits of an organization: `gpuaas organization limit list`.',
  },
  sku_disabled: {
    status: 409,
    retryable: false,
    title: 'SKU is disabled',
    help: 'Choose another SKU: `gpuaas sku list`.',
  },
  region_disabled: {
    status: 409,
    retryable: false,
    title: 'Region is disabled',
    help: 'Choose an enabled region: `gpuaas region list`.',
  },
  gone: {
    status: 410,
    retryable: false,
    title: 'No longer available',
    help: 'Read the resources again, then follow events without an ID.',
  },
  precondition_failed: {
    status: 412,
    retryable: false,
    title: 'Resource changed',
    help: 'Read the resource again and send its new ETag in If-Match.',
  },
  payload_too_large: { status: 413, retryable: false, title: 'Body too large', help: 'Send at most 1 MiB.' },
  unsupported_media_type: {
    status: 415,
    retryable: false,
    title: 'Unsupported media type',
    help: 'Send application/json in UTF-8.',
  },
  idempotency_key_reused: {
    status: 422,
    retryable: false,
    title: 'Idempotency key reused',
    help: 'Use a new Idempotency-Key for a different request.',
  },
  precondition_required: {
    status: 428,
    retryable: false,
    title: 'If-Match required',
    help: 'Read the resource and send its ETag in If-Match.',
  },
  rate_limited: {
    status: 429,
    retryable: true,
    title: 'Too many requests',
    help: 'Wait for the seconds given in Retry-After.',
  },
  header_too_large: {
    status: 431,
    retryable: false,
    title: 'Headers too large',
    help: 'Send at most 16 KiB of headers.',
  },
  internal: {
    status: 500,
    retryable: false,
    title: 'Internal error',
    help: 'This is a defect. Report it with the correlation ID.',
  },
  unavailable: {
    status: 503,
    retryable: true,
    title: 'Temporarily unavailable',
    help: 'Retry after the seconds given in Retry-After. No changes were made.',
  },
} as const satisfies Record<string, { status: number; retryable: boolean; title: string; help: string }>;

export type ErrorCode = keyof typeof ERRORS;
export const ERROR_CODES = Object.keys(ERRORS) as readonly ErrorCode[];
