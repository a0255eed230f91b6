/** Setup against a real server that enrolls only named hosts, as in production, with a simulated host and its agent. */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { createFleetHost, simSpeed } from '../../lab/src/fleet-host.ts';
import { ROLES } from '../../server/src/config.ts';
import { startTestApp } from '../../server/test/app.ts';
import { runSetupDialog } from '../golden/setup-dialog.ts';

const NAME = 'j22u15';

test('setup brings the first host of a site that enrolls only named hosts up to its approval', async (t) => {
  const site = await startTestApp(t, { requires_named_host: true, roles: ROLES });
  const admin = await site.admin();
  const { next, requires_named_host } = (await admin.get('/api/v1/admin/setup')).body;
  assert.deepEqual([next, requires_named_host], ['node_created', true]);

  const dir = await mkdtemp(join(tmpdir(), 'gpuaas-setup-'));
  const host = createFleetHost({
    dir,
    spec: { name: NAME, profile: 'dell-xe9680-h200', capacity_mode: 'slice', until: 'discovered', faults: [] },
    sim: simSpeed(true),
    say: () => undefined,
  });
  t.after(async () => {
    await host.stop();
    await rm(dir, { recursive: true, force: true });
  });
  let enrolling: Promise<void> | undefined;
  const install = async (token: string, ca_sha256: string): Promise<void> => {
    await host.enroll({ token, ca_sha256, node_api_url: site.app.node_api?.url ?? '' });
    await host.start();
  };
  const onScreen = (seen: string): void => {
    const [token] = /gpe_[\w-]{43}(?=\s)/.exec(seen) ?? [];
    const [, ca] = /--ca-sha256 ([0-9a-f]{64})/.exec(seen) ?? [];
    if (token !== undefined && ca !== undefined) enrolling ??= install(token, ca);
  };
  const serial = await host.serialNumber();
  const { seen, left } = await runSetupDialog(
    { url: site.app.url, token: admin.token },
    [true, NAME, 'us-buffalo-1', 'H200 SXM', '8', 'slice', serial, true],
    onScreen,
  );
  await enrolling;
  assert.deepEqual(left, []);
  assert.match(seen, new RegExp(`Only this host can use the token: serial number ${serial}\\.`));
  assert.match(seen, /Next: Approve its slots/);
});
