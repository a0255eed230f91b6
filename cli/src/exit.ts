/**
 * Exit codes are part of the contract with scripts: one per way to continue. The table is exhaustive over the error
 * codes of the API, so a new code does not compile until it has an exit code.
 */
import { EXPECTED_REASON, GpuaasError, type GpuaasErrorCode } from '@gpuaas/sdk';
import { clean, safeJson } from './clean.ts';
import type { Io } from './io.ts';

export const EXIT = {
  ok: 0,
  failure: 1,
  usage: 2,
  not_found: 3,
  auth: 4,
  conflict: 5,
  capacity: 6,
  transient: 7,
  timeout: 8,
  interrupted: 130,
} as const;

const EXIT_OF_CODE: Readonly<Record<GpuaasErrorCode, keyof typeof EXIT>> = {
  invalid_request: 'usage',
  idempotency_key_missing: 'usage',
  unauthenticated: 'auth',
  fresh_sign_in_required: 'auth',
  permission_denied: 'auth',
  policy_denied: 'auth',
  not_found: 'not_found',
  method_not_allowed: 'failure',
  request_timeout: 'transient',
  conflict: 'conflict',
  already_exists: 'conflict',
  idempotency_in_flight: 'transient',
  insufficient_capacity: 'capacity',
  quota_exceeded: 'capacity',
  limit_exceeded: 'capacity',
  sku_disabled: 'conflict',
  region_disabled: 'conflict',
  gone: 'conflict',
  precondition_failed: 'conflict',
  payload_too_large: 'failure',
  unsupported_media_type: 'failure',
  idempotency_key_reused: 'conflict',
  precondition_required: 'conflict',
  rate_limited: 'transient',
  header_too_large: 'failure',
  internal: 'failure',
  unavailable: 'transient',
  network: 'transient',
  timeout: 'timeout',
  unexpected_response: 'failure',
};

/** The command line itself is invalid. `help` names what to type instead. */
export class UsageError extends Error {
  override name = 'UsageError';
  readonly help: string | null;

  constructor(sentence: string, help: string | null = null) {
    super(sentence);
    this.help = help;
  }
}

/** A local failure, or a result that counts as one, with its exit code. */
export class CliError extends Error {
  override name = 'CliError';
  readonly exit: keyof typeof EXIT;
  readonly help: string | null;

  constructor(exit: keyof typeof EXIT, sentence: string, help: string | null = null) {
    super(sentence);
    this.exit = exit;
    this.help = help;
  }
}

/**
 * A refusal by the API with commands that would succeed now, so that a user can continue by copying a line and a
 * program by running it.
 */
export class RefusedError extends GpuaasError {
  override name = 'RefusedError';
  readonly commands: readonly string[];

  constructor(refusal: GpuaasError, commands: readonly string[]) {
    const { correlation_id, ...details } = refusal;
    super(refusal.code, refusal.detail, { ...details, ...(correlation_id === null ? {} : { correlation_id }) });
    this.commands = commands;
  }

  override toJSON(): Record<string, unknown> {
    return { ...super.toJSON(), commands: this.commands };
  }
}

export class Interrupted extends Error {
  override name = 'Interrupted';
}

export const exitOf = (err: unknown): number => {
  if (err instanceof GpuaasError) {
    // A proxy in front of the API failed: retrying later is right.
    if (err.code === 'unexpected_response' && err.retryable) return EXIT.transient;
    return EXIT[EXIT_OF_CODE[err.code]];
  }
  if (err instanceof UsageError) return EXIT.usage;
  if (err instanceof CliError) return EXIT[err.exit];
  if (err instanceof Interrupted) return EXIT.interrupted;
  return EXIT.failure;
};

const asJson = (err: unknown): Record<string, unknown> => {
  if (err instanceof GpuaasError) return { ...err.toJSON(), help: helpOf(err) };
  const detail = err instanceof Error ? err.message : String(err);
  if (err instanceof UsageError) return { code: 'usage', detail, help: err.help };
  if (err instanceof CliError) return { code: err.exit, detail, help: err.help };
  if (err instanceof Interrupted) return { code: 'interrupted', detail };
  return { code: 'failure', detail };
};

/** The help text of the API is about requests and headers; the CLI gives the same advice as commands. */
const HELP: Readonly<Partial<Record<GpuaasErrorCode, string>>> = {
  invalid_request: 'Correct the value and retry.',
  unauthenticated: 'Sign in with: gpuaas login',
  fresh_sign_in_required:
    'Sign in again, then repeat the command: gpuaas login --fresh. Automation needs an API token with the scope fresh_sign_in and the scopes of its commands.',
  precondition_failed: 'Review the change and retry.',
  insufficient_capacity: 'Request less capacity or another region, or retry later.',
  quota_exceeded:
    "Release an allocation, or request a larger quota: gpuaas quota request --gpus N --reason '...'. Show quotas: gpuaas quota get",
  limit_exceeded: 'Remove what you no longer need. Show limits and usage: gpuaas organization limit list',
  sku_disabled: 'List available SKUs: gpuaas sku list',
  region_disabled: 'List available regions: gpuaas region list',
  idempotency_key_reused: 'Use a new --idempotency-key for a different change.',
  network: 'Check the address and the connection: gpuaas doctor',
  unexpected_response: 'Check the address: gpuaas doctor',
};

/** The command that lists the valid names. */
const LISTS: ReadonlyMap<string, string> = new Map([
  ['SKU', 'List SKUs: gpuaas sku list'],
  ['region', 'List regions: gpuaas region list'],
  ['node', 'List nodes: gpuaas admin node list'],
]);

/**
 * Refusals whose sentences after the first state what to do, so that general advice would only contradict them. Others do
 * so where they name a command.
 */
const STATES_REMEDY: ReadonlySet<GpuaasErrorCode> = new Set(['conflict', 'already_exists', 'policy_denied']);

const helpOf = (err: GpuaasError): string | null => {
  const isRemedyStated = STATES_REMEDY.has(err.code) ? /[.:;] \S/ : /: gpuaas \S/;
  if (isRemedyStated.test(err.detail)) return null;
  const missing = err.code === 'not_found' ? /^No (?:such )?(\w+)\b/.exec(err.detail)?.[1] : undefined;
  const list = LISTS.get(missing ?? '');
  if (list !== undefined) return list;
  const own = HELP[err.code];
  if (own !== undefined) return own;
  return err.retry_after_s === null ? err.help : `Retry in ${err.retry_after_s} s.`;
};

/** The result alone: alternatives follow as commands. */
const sentenceOf = (err: GpuaasError): string => {
  const verdict = err.reasons[0]?.['detail'];
  const isEnough = err instanceof RefusedError && typeof verdict === 'string' && err.detail.startsWith(verdict);
  return isEnough ? verdict : err.detail;
};

/** A reason that is a sentence is printed as one; the result that was already printed is not repeated. */
const reasonLines = (err: GpuaasError): string[] => {
  const lines = err.reasons.flatMap(({ code, detail, ...facts }, index) => {
    // With the code of the error it has no more to state than the sentence.
    if (code === EXPECTED_REASON || (code === err.code && detail === undefined)) return [];
    if (typeof detail === 'string') return index === 0 && err.detail.includes(detail) ? [] : [`  ${detail}`];
    if (err instanceof RefusedError) return [];
    const named = Object.entries(facts).map(
      ([name, value]) => `${name}=${typeof value === 'object' ? JSON.stringify(value) : value}`,
    );
    return [`  reason: ${[code, ...named].join(' ')}`];
  });
  return lines.length > 0 && err instanceof RefusedError ? ['Unavailable GPUs:', ...lines] : lines;
};

/** When it may fit, where the server knows. */
const expectedLines = (err: GpuaasError): string[] =>
  err.reasons.flatMap(({ code, detail }) => (code === EXPECTED_REASON && typeof detail === 'string' ? [detail] : []));

const alternativeLines = (err: GpuaasError): string[] => {
  if (!(err instanceof RefusedError))
    return err.alternatives.map((alternative) => `  fits now: ${JSON.stringify(alternative)}`);
  return err.commands.length === 0 ? [] : ['Fits now:', ...err.commands.map((command) => `  ${command}`)];
};

/** The lines for a person: what happened, what to do, which fields, and the correlation ID that support needs. */
const asLines = (err: unknown): string[] => {
  if (!(err instanceof GpuaasError)) {
    const sentence = err instanceof Error ? err.message : String(err);
    const help = err instanceof UsageError || err instanceof CliError ? err.help : null;
    return [sentence, ...(help === null ? [] : [help])];
  }
  const lines = [sentenceOf(err)];
  for (const field of err.errors) lines.push(`  ${field.pointer}: ${field.message}`);
  lines.push(...reasonLines(err), ...expectedLines(err), ...alternativeLines(err));
  const help = err instanceof RefusedError && err.commands.length > 0 ? null : helpOf(err);
  for (const { rel, text, href } of err.actions) if (rel !== 'help') lines.push(`${text} ${href}`);
  if (help !== null) lines.push(help);
  for (const { rel, href } of err.actions) if (rel === 'help') lines.push(`Details: ${href}`);
  if (err.correlation_id) lines.push(`correlation id ${err.correlation_id}`);
  return lines;
};

/** Writes the error to standard error and returns the exit code. */
export const report = (err: unknown, { json, stderr }: Pick<Io, 'stderr'> & Readonly<{ json: boolean }>): number => {
  const code = exitOf(err);
  if (json) stderr.write(`${safeJson({ error: { ...asJson(err), exit_code: code } })}\n`);
  else {
    const [first = '', ...rest] = asLines(err);
    for (const line of [`gpuaas: ${first}`, ...rest]) {
      const indent = /^ */.exec(line)?.[0] ?? '';
      stderr.write(`${indent}${clean(line).trim()}\n`);
    }
  }
  return code;
};
