/**
 * Whether an address of the configuration can be reached from this process. Nothing a caller of the API sends becomes an
 * address here. Redirects are not followed, and every attempt ends in time.
 */
import { connect } from 'node:net';
import { connect as connectTls, type PeerCertificate } from 'node:tls';

export type Reached = Readonly<{ ok: true; duration_ms: number }> | Readonly<{ ok: false; reason: string }>;

export type TlsReached =
  | Readonly<{ ok: true; duration_ms: number; ends_at: string; refusal: string | null }>
  | Readonly<{ ok: false; reason: string }>;

const HTTPS_PORT = 443;
const NATS_PORT = 4222;
const REASON_MAX = 200;

/** The code of the system where there is one: it is what an operator searches for. */
const reasonOf = (err: unknown): string => {
  const { cause } = err as { cause?: unknown };
  const { code, message } = (cause ?? err) as { code?: unknown; message?: unknown };
  return String(code === undefined ? message : `${String(code)} (${String(message)})`).slice(0, REASON_MAX);
};

const timedOut = (limitMs: number): Error => new Error(`no answer within ${limitMs / 1000} s`);

/** Any response counts: the listener is there. */
export const reachHttp = async (url: string, limitMs: number): Promise<Reached> => {
  const started = performance.now();
  try {
    const response = await fetch(url.replace(/^ws/, 'http'), {
      redirect: 'manual',
      signal: AbortSignal.timeout(limitMs),
    });
    await response.body?.cancel();
    if (response.status === 502 || response.status === 503 || response.status === 504)
      return { ok: false, reason: `the proxy in front of it answered ${response.status}` };
    return { ok: true, duration_ms: performance.now() - started };
  } catch (err) {
    return { ok: false, reason: (err as Error).name === 'TimeoutError' ? timedOut(limitMs).message : reasonOf(err) };
  }
};

/** The certificate is read even where clients would refuse it, and the refusal is reported. */
export const reachTls = (
  { host, port = HTTPS_PORT }: Readonly<{ host: string; port?: number }>,
  limitMs: number,
): Promise<TlsReached> =>
  new Promise((resolve) => {
    const started = performance.now();
    const socket = connectTls({ host, port, servername: host, rejectUnauthorized: false });
    const end = (reached: TlsReached): void => {
      resolve(reached);
      socket.destroy();
    };
    socket.setTimeout(limitMs, () => end({ ok: false, reason: timedOut(limitMs).message }));
    socket.on('error', (err) => end({ ok: false, reason: reasonOf(err) }));
    socket.on('secureConnect', () => {
      const certificate: Partial<PeerCertificate> = socket.getPeerCertificate();
      const endsAt = Date.parse(certificate.valid_to ?? '');
      if (Number.isNaN(endsAt)) return end({ ok: false, reason: 'it sent no certificate' });
      end({
        ok: true,
        duration_ms: performance.now() - started,
        ends_at: new Date(endsAt).toISOString(),
        refusal: socket.authorized ? null : String(socket.authorizationError),
      });
    });
  });

/** A NATS server greets every connection, also one that will use TLS. */
export const reachNats = (address: string, limitMs: number): Promise<Reached> =>
  new Promise((resolve) => {
    const started = performance.now();
    const { hostname, port } = new URL(address.includes('://') ? address : `nats://${address}`);
    const socket = connect({ host: hostname.replace(/^\[|\]$/g, ''), port: port === '' ? NATS_PORT : Number(port) });
    const end = (reached: Reached): void => {
      resolve(reached);
      socket.destroy();
    };
    socket.setTimeout(limitMs, () => end({ ok: false, reason: timedOut(limitMs).message }));
    socket.on('error', (err) => end({ ok: false, reason: reasonOf(err) }));
    socket.on('close', () => end({ ok: false, reason: 'it closed the connection' }));
    socket.once('data', (greeting) =>
      end(
        greeting.toString('latin1', 0, 5) === 'INFO '
          ? { ok: true, duration_ms: performance.now() - started }
          : { ok: false, reason: 'another server listens there' },
      ),
    );
  });
