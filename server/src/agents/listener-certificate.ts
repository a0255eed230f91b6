/**
 * The certificates of the listeners for agents, issued by the oldest trusted CA. A certificate is replaced when that CA
 * changes or at half its lifetime. The node API issues its own. A gateway has no signing key: it requests its
 * certificate through the database and keeps its private key, and the node API signs. The node API signs only names of
 * gateways, so that a gateway cannot impersonate the node API.
 */
import { type Clock, mintId } from '@gpuaas/kit';
import { type Database, PLATFORM } from '../db/client.ts';
import {
  answerListenerRequest,
  findListenerAnswer,
  insertListenerRequest,
  type ListenerAnswer,
  type ListenerRequestRow,
  lockOpenListenerRequests,
} from '../db/listener-request.ts';
import { CsrError, createListenerCsr, issueServerCertificate } from '../ports/trust/x509.ts';
import type { PublicTrust, Trust } from './trust.ts';

const LIFE_S = 7 * 24 * 3600;
const ANSWERED_AT_ONCE = 20;

export type ListenerCertificate = Readonly<{ key: string; cert: string; ca: string }>;

type Issued = Readonly<{ ca_id: string; key: string; cert: string }>;

export type ListenerCertificates = Readonly<{
  /** The certificate and trusted CAs; undefined when neither changed since the last call, or none was issued yet. */
  next(trust: PublicTrust): Promise<ListenerCertificate | undefined>;
  /** The one in use; undefined before the first. */
  current(): Pick<ListenerCertificate, 'cert'> | undefined;
}>;

export const createListenerCertificates = (
  options: Readonly<{
    clock: Clock;
    /** Undefined while it is under way; then it is called again. */
    obtain(): Promise<Issued | undefined>;
  }>,
): ListenerCertificates => {
  let issued: (Issued & Readonly<{ renew_at: number }>) | undefined;
  let shownVersion: string | undefined;
  return {
    next: async (trust) => {
      const now = options.clock.now().getTime();
      const isStale = issued === undefined || issued.ca_id !== trust.listener_ca_id || now >= issued.renew_at;
      const next = isStale ? await options.obtain() : undefined;
      if (next !== undefined) issued = { ...next, renew_at: now + (LIFE_S * 1000) / 2 };
      if (issued === undefined || (next === undefined && shownVersion === trust.bundle.version)) return undefined;
      shownVersion = trust.bundle.version;
      return { key: issued.key, cert: issued.cert, ca: trust.bundle.ca_bundle_pem };
    },
    current: () => issued,
  };
};

/** For a process that holds the CA. */
export const issueHere =
  (options: Readonly<{ names: readonly string[]; clock: Clock; trust: () => Trust }>) => async (): Promise<Issued> => {
    const { id, issuer } = options.trust().listener_ca;
    const { csr_pem, private_pem } = await createListenerCsr();
    const wanted = { csr_pem, names: options.names, now: options.clock.now(), life_s: LIFE_S };
    const { certificate_pem } = await issueServerCertificate(issuer, wanted);
    return { ca_id: id, key: private_pem, cert: certificate_pem };
  };

/** For a process that does not. */
export const requestIssue = (options: Readonly<{ names: readonly string[]; database: Database }>) => {
  const { database, names } = options;
  let pending: Readonly<{ id: string; private_pem: string }> | undefined;
  return async (): Promise<Issued | undefined> => {
    if (pending === undefined) {
      const { csr_pem, private_pem } = await createListenerCsr();
      const id = mintId('lcr');
      await database.write(PLATFORM, async (tx) => {
        await insertListenerRequest(tx, { id, names: [...names], csr_pem });
        tx.wake();
      });
      pending = { id, private_pem };
      return undefined;
    }
    const { id, private_pem } = pending;
    const answer = await database.read(PLATFORM, (reader) => findListenerAnswer(reader, id));
    if (answer === undefined) return undefined;
    pending = undefined;
    if (answer.certificate_pem === null || answer.ca_key_id === null)
      throw new Error(`The node API refused a certificate for this gateway: ${answer.refusal}`);
    return { ca_id: answer.ca_key_id, key: private_pem, cert: answer.certificate_pem };
  };
};

type Answerer = Readonly<{ database: Database; clock: Clock; trust: () => Trust; names: readonly string[] }>;

const answer = async (deps: Answerer, request: ListenerRequestRow): Promise<ListenerAnswer> => {
  const refuse = (refusal: string): ListenerAnswer => ({ certificate_pem: null, ca_key_id: null, refusal });
  const others = request.names.filter((name) => !deps.names.includes(name));
  if (others.length > 0)
    return refuse(`${others.join(', ')} is not in GPUAAS_GATEWAY_NAMES of gpuaas-node-api. Add it there.`);
  const { id, issuer } = deps.trust().listener_ca;
  const wanted = { csr_pem: request.csr_pem, names: request.names, now: deps.clock.now(), life_s: LIFE_S };
  try {
    const { certificate_pem } = await issueServerCertificate(issuer, wanted);
    return { certificate_pem, ca_key_id: id, refusal: null };
  } catch (err) {
    if (err instanceof CsrError) return refuse(err.message);
    throw err;
  }
};

/** Answers the gateways that ask for a certificate. */
export const answerListenerRequests = (deps: Answerer): Promise<void> =>
  deps.database.write(PLATFORM, async (tx) => {
    for (const request of await lockOpenListenerRequests(tx, ANSWERED_AT_ONCE))
      await answerListenerRequest(tx, request.id, await answer(deps, request));
  });
