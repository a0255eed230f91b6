import 'reflect-metadata';
import assert from 'node:assert/strict';
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import * as x509 from '@peculiar/x509';
import { enrolled, HOST, status, temporaryFolder } from '../../test/agents.ts';
import { createAuthority, startPlatform } from '../../test/platform.ts';
import { openConnection } from './connection.ts';
import { createCsr, createKey } from './csr.ts';
import { enroll } from './enroll.ts';
import { ControlPlaneError } from './errors.ts';
import { readEnrollment } from './identity.ts';

const is = (kind: string) => (err: unknown) => err instanceof ControlPlaneError && err.kind === kind;

test('a signing request carries the public key that signs it and the requested name', async () => {
  const request = new x509.Pkcs10CertificateRequest(createCsr(await createKey(), 'j22u15'));
  assert.equal(request.subject, 'CN=j22u15');
  assert.ok(await request.verify());
});

test('a host enrolls by token and fingerprint and then uses its own certificate', async (t) => {
  const platform = await startPlatform();
  t.after(platform.close);
  const state = await temporaryFolder(t);
  const nodeId = await enrolled(platform, state);
  assert.equal((await stat(join(state, 'identity.json'))).mode & 0o777, 0o600);
  const connection = await openConnection({ url: platform.url, state, version: 'x' });
  t.after(() => connection.close());
  assert.equal(connection.node_id, nodeId);
  const report = { source: 'test', observed_at: new Date().toISOString(), successes: [], alerts: [] };
  await connection.call('healthReport', { params: { node_id: nodeId }, body: { report } });
  assert.equal(platform.state.health.length, 1);
});

test('a control plane with another root receives no token, even if it also presents the right root', async (t) => {
  const platform = await startPlatform();
  t.after(platform.close);
  const state = await temporaryFolder(t);
  const ours = await createAuthority('the true root');
  const options = { url: platform.url, token: platform.mintToken('x'), state, hostname: 'h', status };
  await assert.rejects(enroll({ ...options, ca_sha256: ours.sha256 }), is('untrusted'));
  assert.deepEqual(platform.state.calls, ['GET /internal/v1/trust-bundle']);

  // The impostor's bundle contains the true root, but its server certificate is signed by another.
  const impostor = await startPlatform();
  t.after(impostor.close);
  const own = impostor.authority().sha256;
  await impostor.rotateAuthority();
  await assert.rejects(enroll({ ...options, url: impostor.url, ca_sha256: own }), is('untrusted'));
  assert.ok(!impostor.state.calls.some((call) => call.includes('enroll')));
  assert.equal(await readEnrollment(state), undefined);
});

test('an enrollment token works once', async (t) => {
  const platform = await startPlatform();
  t.after(platform.close);
  const state = await temporaryFolder(t);
  const token = platform.mintToken(platform.nodeId());
  const options = { url: platform.url, token, state, hostname: 'h', status, ca_sha256: platform.authority().sha256 };
  await enroll(options);
  const before = await readFile(join(state, 'identity.json'), 'utf8');
  await assert.rejects(enroll(options), is('refused'));
  assert.equal(await readFile(join(state, 'identity.json'), 'utf8'), before);
});

test('renewal replaces key and certificate, and the old pair stays until the new one has worked', async (t) => {
  const platform = await startPlatform();
  t.after(platform.close);
  const state = await temporaryFolder(t);
  const nodeId = await enrolled(platform, state);
  const connection = await openConnection({ url: platform.url, state, version: 'x' });
  t.after(() => connection.close());
  const first = connection.identity();

  let trustCalls = 0;
  platform.state.fault = (path) => (path.endsWith('/trust-bundle') && ++trustCalls === 1 ? 503 : null);
  await assert.rejects(connection.renew(HOST), is('busy'));
  assert.equal(connection.identity(), first);
  assert.equal((await readEnrollment(state))?.identity.certificate_pem, first.certificate_pem);

  await connection.renew(HOST);
  const second = connection.identity();
  assert.notEqual(second.certificate_pem, first.certificate_pem);
  assert.notEqual(second.private_key_pem, first.private_key_pem);
  assert.deepEqual((await readEnrollment(state))?.identity, second);
  await connection
    .call('taskStart', { params: { node_id: nodeId, task_id: 'tsk_x' }, body: { attempt: 1 } })
    .catch(() => {});
});

test('during a root rotation agents trust the old and the new root, then only the new one', async (t) => {
  const platform = await startPlatform();
  t.after(platform.close);
  const state = await temporaryFolder(t);
  await enrolled(platform, state);
  const connection = await openConnection({ url: platform.url, state, version: 'x' });
  t.after(() => connection.close());
  await connection.call('trustBundleGet');
  const before = connection.trust().version;
  await platform.rotateAuthority();
  // The open connection was made under the old root; it delivers the new one.
  await connection.refreshTrust();
  assert.notEqual(connection.trust().version, before);
  await connection.renew(HOST);
  platform.retireAuthorities();
  platform.dropConnections();
  await connection.refreshTrust();
  assert.equal(connection.trust().ca_bundle_pem, platform.authority().pem);
  assert.equal((await readEnrollment(state))?.trust.version, connection.trust().version);
});
