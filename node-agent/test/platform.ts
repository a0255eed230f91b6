/**
 * The control plane as an agent sees it: HTTPS with client certificates, a CA, signers, tasks and their results. It is
 * an independent server without the agent's code, so that both sides of the contract are implemented separately.
 */
import 'reflect-metadata';
import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign, webcrypto } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { TLSSocket } from 'node:tls';
import type { SignedTask, TaskKind, TaskPayload, TaskRefusal, TaskResult, TrustBundle } from '@gpuaas/contract/node';
import { mintId } from '@gpuaas/kit';
import * as x509 from '@peculiar/x509';

x509.cryptoProvider.set(webcrypto as unknown as Parameters<typeof x509.cryptoProvider.set>[0]);
const EC = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;

export type Authority = Readonly<{
  certificate: x509.X509Certificate;
  keys: webcrypto.CryptoKeyPair;
  pem: string;
  sha256: string;
}>;

export const pemOfKey = async (key: webcrypto.CryptoKey): Promise<string> => {
  const der = Buffer.from(await webcrypto.subtle.exportKey('pkcs8', key));
  return `-----BEGIN PRIVATE KEY-----\n${der.toString('base64')}\n-----END PRIVATE KEY-----\n`;
};

export const newKeys = async (): Promise<webcrypto.CryptoKeyPair> =>
  await webcrypto.subtle.generateKey(EC, true, ['sign', 'verify']);

export const createAuthority = async (name: string): Promise<Authority> => {
  const keys = await newKeys();
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    name: `CN=${name}`,
    keys,
    signingAlgorithm: EC,
    notBefore: new Date(Date.now() - 60_000),
    notAfter: new Date(Date.now() + 24 * 3600_000),
    extensions: [new x509.BasicConstraintsExtension(true, 0, true)],
  });
  const sha256 = createHash('sha256').update(Buffer.from(certificate.rawData)).digest('hex');
  return { certificate, keys, pem: `${certificate.toString('pem').trim()}\n`, sha256 };
};

export const issue = (
  authority: Authority,
  publicKey: x509.PublicKey | webcrypto.CryptoKey,
  options: { san: x509.JsonGeneralNames; usage: string; lifeMs: number },
): Promise<x509.X509Certificate> =>
  x509.X509CertificateGenerator.create({
    subject: 'CN=gpuaas',
    issuer: authority.certificate.subject,
    publicKey,
    signingKey: authority.keys.privateKey,
    signingAlgorithm: EC,
    notBefore: new Date(Date.now() - 60_000),
    notAfter: new Date(Date.now() + options.lifeMs),
    extensions: [
      new x509.SubjectAlternativeNameExtension(options.san),
      new x509.ExtendedKeyUsageExtension([options.usage]),
    ],
  });

export type Signer = Readonly<{ signer_id: string; key: KeyObject; public_key_pem: string }>;
export const createSigner = (signerId: string): Signer => {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  const public_key_pem = publicKey.export({ type: 'spki', format: 'pem' }).toString();
  return { signer_id: signerId, key: privateKey, public_key_pem };
};

const sha256 = (...parts: readonly (string | Buffer | Uint8Array)[]): Buffer =>
  createHash('sha256')
    .update(Buffer.concat(parts.map((part) => Buffer.from(part as string))))
    .digest();

type Node = Readonly<{ hash: Buffer; proofs: readonly (readonly string[])[] }>;

/** RFC 6962 literally: split at the largest power of two below the number of leaves. */
const treeOf = (texts: readonly string[]): Node => {
  if (texts.length <= 1) return { hash: sha256('\0', texts[0] ?? ''), proofs: [[]] };
  const middle = 2 ** (Math.ceil(Math.log2(texts.length)) - 1);
  const [left, right] = [treeOf(texts.slice(0, middle)), treeOf(texts.slice(middle))];
  const [toLeft, toRight] = [left.hash, right.hash].map((hash) => hash.toString('base64url'));
  return {
    hash: sha256('\x01', left.hash, right.hash),
    proofs: [
      ...left.proofs.map((proof) => [...proof, `right:${toRight}`]),
      ...right.proofs.map((proof) => [...proof, `left:${toLeft}`]),
    ],
  };
};

/** With one signature for all. */
export const signTasks = (signer: Signer, payloads: readonly unknown[]): SignedTask[] => {
  const texts = payloads.map((payload) => (typeof payload === 'string' ? payload : JSON.stringify(payload)));
  const { hash, proofs } = treeOf(texts);
  const bytes = Buffer.concat([Buffer.from('gpuaas task tree v1\n'), hash]);
  const signature = sign(null, bytes, signer.key).toString('base64');
  return texts.map((payload, index) => ({
    payload,
    signer_id: signer.signer_id,
    proof: [...(proofs[index] ?? [])],
    signature,
  }));
};

export const signTask = (signer: Signer, payload: unknown): SignedTask => signTasks(signer, [payload])[0] as SignedTask;

type Held = { nodeId: string; journaled: string[]; answer: () => void };

export const startPlatform = async () => {
  let authority = await createAuthority('gpuaas test CA');
  let caBundle = authority.pem;
  let signer = createSigner('sgn_1');
  let signers = [signer];
  const nodes = new Map<string, { revoked: Set<string>; newest: string }>();
  const tokens = new Map<string, string>();
  const outbox = new Map<string, SignedTask[]>();
  const held = new Set<Held>();
  const state = {
    results: new Map<string, TaskResult[]>(),
    refusals: [] as TaskRefusal[],
    starts: [] as string[],
    progress: [] as { task_id: string; percent: number }[],
    logs: [] as { first_number: number; agent_start_id: string; lines: Record<string, unknown>[] }[],
    health: [] as unknown[],
    waits: [] as Record<string, unknown>[],
    calls: [] as string[],
    releases: new Map<string, Buffer>(),
    notToBegin: new Set<string>(),
    cancelled: new Set<string>(),
    unwanted: new Set<string>(),
    /** The status to return instead, by path suffix; null responds as usual. */
    fault: null as null | ((path: string) => number | null),
    /** Runs while an enrollment waits for its response. */
    onEnroll: null as null | (() => Promise<void>),
    lifeMs: 24 * 3600_000,
    connections: 0,
  };
  const waiters = new Set<() => void>();
  const changed = (): void => {
    for (const tell of waiters) tell();
  };

  const trust = (): TrustBundle => {
    const task_signers = signers.map(({ signer_id, public_key_pem }) => ({
      signer_id,
      public_key_pem,
      state: 'active' as const,
    }));
    const version = createHash('sha256')
      .update(caBundle + JSON.stringify(task_signers))
      .digest('hex')
      .slice(0, 16);
    return { version, ca_bundle_pem: caBundle, task_signers };
  };

  const certify = async (nodeId: string, csrPem: string) => {
    const csr = new x509.Pkcs10CertificateRequest(csrPem);
    if (!(await csr.verify())) throw new Error('the request is not signed by its key');
    const certificate = await issue(authority, csr.publicKey, {
      san: [{ type: 'url', value: `spiffe://gpuaas/node/${nodeId}` }],
      usage: x509.ExtendedKeyUsage.clientAuth,
      lifeMs: state.lifeMs,
    });
    const node = nodes.get(nodeId) ?? { revoked: new Set(), newest: '' };
    node.newest = certificate.serialNumber.toUpperCase();
    nodes.set(nodeId, node);
    return {
      node_id: nodeId,
      certificate_pem: certificate.toString('pem'),
      not_after: certificate.notAfter.toISOString(),
      renew_after: new Date(Date.now() + state.lifeMs / 2).toISOString(),
      trust: trust(),
    };
  };

  const json = (res: ServerResponse, status: number, body: unknown): void => {
    const text = JSON.stringify(body);
    res.writeHead(status, { 'content-type': 'application/json' }).end(text);
  };
  const problem = (res: ServerResponse, status: number, detail: string): void =>
    json(res, status, { status, detail, code: 'forbidden', retry_after_s: null });

  /** The node that the certificate names, or why it is rejected. */
  const nodeOf = (req: IncomingMessage): string | null => {
    const socket = req.socket as TLSSocket;
    if (!socket.authorized) return null;
    const peer = socket.getPeerCertificate();
    const nodeId = /^URI:spiffe:\/\/gpuaas\/node\/(\w+)$/.exec(peer.subjectaltname ?? '')?.[1];
    const node = nodeId === undefined ? undefined : nodes.get(nodeId);
    return nodeId === undefined || node === undefined || node.revoked.has(peer.serialNumber.toUpperCase())
      ? null
      : nodeId;
  };

  const wait = (nodeId: string, body: { journaled_task_ids: string[]; wait_s: number }, res: ServerResponse): void => {
    const answer = (): void => {
      clearTimeout(timer);
      held.delete(hold);
      const tasks = outbox.get(nodeId) ?? [];
      outbox.set(nodeId, []);
      const cancelled = body.journaled_task_ids.filter((id) => state.cancelled.has(id));
      json(res, 200, { tasks, cancelled, trust_version: trust().version, server_time: new Date().toISOString() });
    };
    const hold: Held = { nodeId, journaled: body.journaled_task_ids, answer };
    const timer = setTimeout(answer, body.wait_s * 1000);
    held.add(hold);
    res.once('close', () => {
      clearTimeout(timer);
      held.delete(hold);
    });
    const isDue =
      (outbox.get(nodeId) ?? []).length > 0 || body.journaled_task_ids.some((id) => state.cancelled.has(id));
    if (isDue || body.wait_s === 0) answer();
  };

  const ofNode = async (path: string, nodeId: string, body: never, res: ServerResponse): Promise<void> => {
    const [, action, taskId, verb] = /^\/internal\/v1\/nodes\/\w+\/(\w+)(?:\/(tsk_\w+))?(?:\/(\w+))?$/.exec(path) ?? [];
    const what = verb ?? action;
    if (what === 'wait') {
      state.waits.push(body);
      return wait(nodeId, body, res);
    }
    if (what === 'certificate') return json(res, 200, await certify(nodeId, (body as { csr_pem: string }).csr_pem));
    if (what === 'start') {
      state.starts.push(taskId ?? '');
      const isRefused = state.notToBegin.has(taskId ?? '');
      return json(res, 200, { may_start: !isRefused, reason: isRefused ? 'cancelled' : null });
    }
    if (what === 'progress') {
      state.progress.push({ task_id: taskId ?? '', percent: (body as { percent: number }).percent });
      return json(res, 200, { is_open: !state.unwanted.has(taskId ?? '') });
    }
    if (what === 'result') {
      const all = state.results.get(taskId ?? '') ?? [];
      all.push(body);
      state.results.set(taskId ?? '', all);
      return json(res, 200, { is_accepted: true, reason: null });
    }
    if (what === 'refusals') {
      state.refusals.push(...(body as { refusals: TaskRefusal[] }).refusals);
      return json(res, 200, { is_accepted: true });
    }
    if (what === 'health') {
      state.health.push(body);
      return json(res, 200, { is_accepted: true });
    }
    if (what === 'logs') {
      const batch = body as (typeof state.logs)[number];
      state.logs.push(batch);
      return json(res, 200, { next_number: batch.first_number + batch.lines.length });
    }
    problem(res, 404, 'no such path');
  };

  const handle = async (req: IncomingMessage, res: ServerResponse): Promise<void> => {
    const path = req.url ?? '';
    state.calls.push(`${req.method} ${path}`);
    const parts: Buffer[] = [];
    for await (const part of req as AsyncIterable<Buffer>) parts.push(part);
    const body = (parts.length === 0 ? {} : JSON.parse(Buffer.concat(parts).toString())) as never;
    const fault = state.fault?.(path) ?? null;
    if (fault === 0) return void req.socket.destroy();
    if (fault !== null) return problem(res, fault, `told to answer ${fault}`);
    if (path === '/internal/v1/trust-bundle') return json(res, 200, trust());
    if (path === '/internal/v1/nodes/enroll') {
      await state.onEnroll?.();
      const nodeId = tokens.get((body as { token: string }).token);
      tokens.delete((body as { token: string }).token);
      if (nodeId === undefined) return problem(res, 403, 'The token is unknown, used or over.');
      const node = nodes.get(nodeId);
      if (node !== undefined) node.revoked.add(node.newest);
      return json(res, 200, await certify(nodeId, (body as { csr_pem: string }).csr_pem));
    }
    const nodeId = nodeOf(req);
    if (nodeId === null) return problem(res, 403, 'The certificate is not valid here.');
    const release = /^\/internal\/v1\/agent-releases\/(.+)$/.exec(path)?.[1];
    if (release !== undefined) {
      const bytes = state.releases.get(decodeURIComponent(release));
      return bytes === undefined ? problem(res, 404, 'no such release') : void res.writeHead(200).end(bytes);
    }
    if (!path.startsWith(`/internal/v1/nodes/${nodeId}/`))
      return problem(res, 403, 'The certificate names another node.');
    return ofNode(path, nodeId, body, res);
  };

  const serverIdentity = async () => {
    const keys = await newKeys();
    const certificate = await issue(authority, keys.publicKey, {
      san: [{ type: 'ip', value: '127.0.0.1' }],
      usage: x509.ExtendedKeyUsage.serverAuth,
      lifeMs: 24 * 3600_000,
    });
    return { key: await pemOfKey(keys.privateKey), cert: certificate.toString('pem'), ca: caBundle };
  };
  const server = createServer(
    { ...(await serverIdentity()), requestCert: true, rejectUnauthorized: false },
    (req, res) => {
      handle(req, res)
        .catch((err: unknown) => (res.headersSent ? res.destroy() : problem(res, 500, String(err))))
        .finally(changed);
    },
  );
  server.on('secureConnection', () => {
    state.connections += 1;
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;

  const wake = (nodeId: string): void => {
    for (const hold of [...held]) if (hold.nodeId === nodeId) hold.answer();
  };
  const payloadOf = (
    nodeId: string,
    kind: TaskKind,
    params: unknown,
    over: Partial<TaskPayload> = {},
  ): TaskPayload => ({
    task_id: mintId('tsk'),
    node_id: nodeId,
    kind,
    attempt: 1,
    params: params as TaskPayload['params'],
    allocation_id: null,
    correlation_id: `cor_${randomBytes(6).toString('hex')}`,
    issued_at: new Date().toISOString(),
    expires_at: new Date(Date.now() + 600_000).toISOString(),
    ...over,
  });

  return {
    url: new URL(`https://127.0.0.1:${port}`),
    state,
    trust,
    authority: () => authority,
    signer: () => signer,
    nodeId: (): string => mintId('nod'),
    mintToken: (nodeId: string): string => {
      const token = `gpe_${randomBytes(32).toString('base64url')}`;
      tokens.set(token, nodeId);
      return token;
    },
    payloadOf,
    /** Delivers signed tasks to the node's pending poll. */
    deliver: (nodeId: string, ...tasks: readonly SignedTask[]): void => {
      outbox.set(nodeId, [...(outbox.get(nodeId) ?? []), ...tasks]);
      wake(nodeId);
    },
    wake,
    revoke: (nodeId: string): void => {
      const node = nodes.get(nodeId);
      node?.revoked.add(node.newest);
      wake(nodeId);
    },
    rotateSigner: (): void => {
      signer = createSigner(`sgn_${signers.length + 1}`);
      signers = [...signers, signer];
    },
    retireSigners: (): void => {
      signers = [signer];
    },
    /** A new root beside the old one; from now on it issues, also for this server. */
    rotateAuthority: async (): Promise<void> => {
      authority = await createAuthority('gpuaas test CA 2');
      caBundle = `${caBundle}${authority.pem}`;
      server.setSecureContext({ ...(await serverIdentity()) });
    },
    /** Only the newest root is trusted from now on. */
    retireAuthorities: (): void => {
      caBundle = authority.pem;
    },
    holding: (): number => held.size,
    /** Resolves when the condition holds; checked after every response. */
    until: async (what: string, condition: () => boolean, timeoutMs = 60_000): Promise<void> => {
      if (condition()) return;
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      const look = (): void => {
        if (condition()) resolve();
      };
      const timer = setTimeout(() => reject(new Error(`it did not happen: ${what}`)), timeoutMs);
      const ticker = setInterval(look, 20);
      waiters.add(look);
      try {
        await promise;
      } finally {
        clearTimeout(timer);
        clearInterval(ticker);
        waiters.delete(look);
      }
    },
    dropConnections: (): void => server.closeAllConnections(),
    close: async (): Promise<void> => {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeAllConnections();
      await closed;
    },
  };
};

export type Platform = Awaited<ReturnType<typeof startPlatform>>;
