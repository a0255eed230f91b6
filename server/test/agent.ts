/** An agent as the control plane sees it: real TLS, its own key and certificate, and the calls of the node contract. */
import 'reflect-metadata';
import { createHash, createPublicKey, generateKeyPairSync, type KeyObject, randomUUID } from 'node:crypto';
import { Agent, request as httpsRequest } from 'node:https';
import { connect, type TLSSocket } from 'node:tls';
import {
  type NodeBody,
  type NodeOperationId,
  nodeApi,
  type SignedTask,
  TASK_KINDS,
  type TaskPayload,
} from '@gpuaas/contract/node';
import * as x509 from '@peculiar/x509';
import type { TestApp } from './app.ts';

// biome-ignore lint/suspicious/noExplicitAny: tests look into bodies whose shape the contract already checked
type Json = any;
export type NodeReply = Readonly<{ status: number; body: Json; headers: Readonly<Record<string, unknown>> }>;

export const newKey = (): KeyObject => generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;

/** A signing request for a key; `names` are additional requested names, which must not be granted. */
export const newCsr = async (key: KeyObject, names: readonly string[] = []): Promise<string> => {
  const { subtle } = globalThis.crypto;
  const isEd = key.asymmetricKeyType === 'ed25519';
  const isRsa = key.asymmetricKeyType === 'rsa';
  const algorithm = isEd
    ? { name: 'Ed25519' }
    : isRsa
      ? { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' }
      : { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
  const pkcs8 = key.export({ type: 'pkcs8', format: 'der' });
  const spki = createPublicKey(key).export({ type: 'spki', format: 'der' });
  const request = await x509.Pkcs10CertificateRequestGenerator.create({
    name: 'CN=whatever',
    keys: {
      privateKey: await subtle.importKey('pkcs8', pkcs8, algorithm, true, ['sign']),
      publicKey: await subtle.importKey('spki', spki, algorithm, true, ['verify']),
    },
    signingAlgorithm: algorithm,
    extensions:
      names.length === 0
        ? []
        : [new x509.SubjectAlternativeNameExtension(names.map((value) => ({ type: 'url' as const, value })))],
  });
  return request.toString('pem');
};

const pem = (key: KeyObject): string => key.export({ type: 'pkcs8', format: 'pem' }).toString();

export type TestAgent = Readonly<{
  node_id: string;
  certificate_pem: string;
  private_key_pem: string;
  trust: Json;
  tls: Agent;
  call<K extends NodeOperationId>(
    operation: K,
    body?: NodeBody<K>,
    params?: Readonly<Record<string, string>>,
  ): Promise<NodeReply>;
  wait(ask?: Partial<NodeBody<'taskWait'>>): Promise<NodeReply>;
  /** The same identity on new connections. */
  again(): TestAgent;
  close(): void;
}>;

export const callNodeApi = (
  url: string,
  agent: Agent,
  operation: NodeOperationId,
  body?: unknown,
  params: Readonly<Record<string, string>> = {},
): Promise<NodeReply> =>
  new Promise((resolve, reject) => {
    const { method, path } = nodeApi[operation];
    const text = body === undefined ? undefined : JSON.stringify(body);
    const target = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(params[name] ?? ''));
    const request = httpsRequest(new URL(target, url), {
      method,
      agent,
      headers:
        text === undefined ? {} : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) },
    });
    request.on('response', (response) => {
      const parts: Buffer[] = [];
      response.on('data', (part: Buffer) => parts.push(part));
      response.on('error', reject);
      response.on('end', () => {
        const raw = Buffer.concat(parts);
        const isJson = String(response.headers['content-type']).includes('json');
        resolve({
          status: response.statusCode ?? 0,
          body: isJson ? JSON.parse(raw.toString('utf8')) : raw,
          headers: response.headers,
        });
      });
    });
    request.on('error', reject);
    request.end(text);
  });

export const anyone = (): Agent => new Agent({ rejectUnauthorized: false, keepAlive: false });

export const STANDING = {
  agent_version: '0.1.0',
  boot_id: 'boot-1',
  booted_at: '2026-01-01T00:00:00.000Z',
  kinds: [...TASK_KINDS],
};

/** A host of its own for each node. */
export const hostOf = (nodeId: string): NodeBody<'nodeEnroll'>['host'] => ({
  product_serial: nodeId,
  product_uuid: null,
  machine_id: null,
});

export const openAgent = (
  url: string,
  identity: Readonly<{ node_id: string; certificate_pem: string; private_key_pem: string; trust: Json }>,
): TestAgent => {
  const tls = new Agent({
    keepAlive: true,
    ca: identity.trust.ca_bundle_pem,
    cert: identity.certificate_pem,
    key: identity.private_key_pem,
    servername: 'localhost',
    // Each connection authenticates again.
    maxCachedSessions: 0,
  });
  const agent: TestAgent = {
    ...identity,
    tls,
    call: (operation, body, params = {}) =>
      callNodeApi(url, tls, operation, body, { node_id: identity.node_id, ...params }),
    wait: (ask = {}) =>
      agent.call('taskWait', {
        ...STANDING,
        host: hostOf(identity.node_id),
        journaled_task_ids: [],
        trust_version: identity.trust.version,
        clock: new Date().toISOString(),
        wait_s: 0,
        ...ask,
      } as NodeBody<'taskWait'>),
    again: () => openAgent(url, identity),
    close: () => tls.destroy(),
  };
  return agent;
};

/** `host`: of a host that no other node has, unless given. */
export const enrollBody = async (
  token: string,
  key: KeyObject,
  host = hostOf(`token ${token}`),
): Promise<NodeBody<'nodeEnroll'>> => ({
  token,
  csr_pem: await newCsr(key),
  hostname: 'host',
  ...STANDING,
  host,
});

/** Adds a node over the public API; its token is in the response. */
export const addNode = async (test: TestApp): Promise<Json> => {
  const admin = await test.admin();
  const answer = await admin.post('/api/v1/admin/nodes', {
    name: `host-${randomUUID().slice(0, 8)}`,
    region_name: 'us-buffalo-1',
    gpu_model: 'H200 SXM',
    gpu_count: 8,
    capacity_mode: 'flexible',
  });
  if (answer.status !== 201) throw new Error(`adminNodeCreate: ${JSON.stringify(answer.body)}`);
  return answer.body;
};

/** Enrolls as an agent does: the root by fingerprint first, everything after over verified TLS. */
export const enrollAgent = async (
  url: string,
  enrollment: Json,
  host = hostOf(enrollment.node_id),
): Promise<TestAgent> => {
  const bundle = (await callNodeApi(url, anyone(), 'trustBundleGet')).body;
  const certificates = String(bundle.ca_bundle_pem).match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g);
  const root = (certificates ?? []).find(
    (one) =>
      createHash('sha256')
        .update(Buffer.from(new x509.X509Certificate(one).rawData))
        .digest('hex') === enrollment.ca_sha256,
  );
  if (root === undefined) throw new Error('the bundle has no CA with the fingerprint of the enrollment');
  const key = newKey();
  const tls = new Agent({ ca: root, servername: 'localhost' });
  const answer = await callNodeApi(url, tls, 'nodeEnroll', await enrollBody(enrollment.token, key, host));
  if (answer.status !== 200) throw new Error(`nodeEnroll: ${JSON.stringify(answer.body)}`);
  return openAgent(url, { ...answer.body, private_key_pem: pem(key) });
};

export const payloadOf = (task: SignedTask): TaskPayload => JSON.parse(task.payload) as TaskPayload;

/** The certificate that the listener shows now. */
export const shownBy = (url: string): Promise<x509.X509Certificate> =>
  new Promise((resolve, reject) => {
    const { hostname, port } = new URL(url);
    const socket: TLSSocket = connect({ host: hostname, port: Number(port), rejectUnauthorized: false }, () => {
      const raw = socket.getPeerX509Certificate()?.raw;
      socket.destroy();
      if (raw === undefined) reject(new Error('no certificate'));
      else resolve(new x509.X509Certificate(raw));
    });
    socket.once('error', reject);
  });
