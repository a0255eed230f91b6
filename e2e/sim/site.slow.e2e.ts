/**
 * A site from an empty database to its end, with the CLI alone: setup, site file, a host approved, a person and a quota
 * approved, a launch, another price, a second launch, and everything retired again.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before } from 'node:test';
import { fileURLToPath } from 'node:url';
import { parse, stringify } from 'yaml';
import { emptyDatabase } from '../../server/test/database.ts';
import { createStory, failureReport } from '../story.ts';
import { type EnrollmentGrant, eventually, type Platform, type Running, startPlatform } from './platform.ts';

const GPUAAS = fileURLToPath(new URL('../../bin/gpuaas', import.meta.url));
const DEMO = fileURLToPath(new URL('../../lab/site.yaml', import.meta.url));
const scratch = mkdtempSync(join(tmpdir(), 'gpuaas-site-'));
const HOST = 'slice-0001';
const REGION = 'us-buffalo-1';
const SKU = 'h200-sxm-slice';

let platform: Platform;
let host: Running;
const cleanups: (() => Promise<void>)[] = [];
const test = createStory(() => failureReport(platform.client));

type Ran = Readonly<{ code: number | null; stdout: string; stderr: string }>;
type Body = Readonly<Record<string, unknown>>;
/** As a line without quotes, or word by word. */
type Words = string | readonly string[];
type List = Readonly<{ items: readonly Body[] }>;

/** Each person has a profile of their own. */
const person = (name: string) => {
  const home = join(scratch, name);
  mkdirSync(home);
  const { GPUAAS_TOKEN: _, GPUAAS_PROFILE: __, ...inherited } = process.env;
  const env = {
    ...inherited,
    XDG_CONFIG_HOME: home,
    GPUAAS_URL: platform.url,
    GPUAAS_STATE_DIR: join(scratch, 'state'),
  };
  const run = (words: Words, input = ''): Ran => {
    const done = spawnSync(GPUAAS, typeof words === 'string' ? words.split(' ') : words, {
      env,
      input,
      encoding: 'utf8',
    });
    return { code: done.status, stdout: done.stdout, stderr: done.stderr };
  };
  const json = <T = Body>(words: Words, input?: string): T => {
    const { code, stdout, stderr } = run(words, input);
    assert.equal(code, 0, `gpuaas ${[words].flat().join(' ')}\n${stdout}${stderr}`);
    return JSON.parse(stdout) as T;
  };
  return { run, json };
};
let operator: ReturnType<typeof person>;
let tenant: ReturnType<typeof person>;

const nextStep = (): unknown => operator.json('admin setup')['next'];
const file = join(scratch, 'site.yaml');
/** Writes the file, plans it and applies the plan. */
const apply = (site: Body): readonly Body[] => {
  writeFileSync(file, stringify(site));
  const plan = operator.json<{ hash: string; changes: Body[] }>(`admin site plan -f ${file}`);
  operator.json(`admin site apply -f ${file} --hash ${plan.hash}`);
  assert.deepEqual(operator.json<{ changes: Body[] }>(`admin site plan -f ${file}`).changes, []);
  return plan.changes;
};
const exported = (): Body => parse(operator.run('admin site export').stdout) as Body;

before(async () => {
  const database_url = await emptyDatabase({ after: (fn) => void cleanups.push(fn) });
  // As in production.
  const env = { GPUAAS_REQUIRE_NAMED_HOST: '1' };
  platform = await startPlatform({ database_url, dir: scratch, isEmpty: true, env });
  [operator, tenant] = [person('operator'), person('tenant')];
});
after(async () => {
  await platform?.stop();
  for (const clean of cleanups) await clean();
  rmSync(scratch, { recursive: true, force: true });
});

test('an operator describes an empty site in one file, and setup goes on to the first host', () => {
  assert.equal(operator.run('admin setup').code, 4);
  operator.json('login --dev');
  assert.equal(nextStep(), 'catalog');
  const { quotas: _, ...demo } = parse(spawnSync('cat', [DEMO], { encoding: 'utf8' }).stdout) as Body;
  const policy = { sign_up: 'approved', mail_domains: [], default_gpu_limit: 0, contact: 'the operators' };
  assert.ok(apply({ ...demo, policy }).length > 10);
  assert.equal(nextStep(), 'node_created');
});

test('a host is added by its serial number, installs its agent with the token, and is discovered', async () => {
  const { serial, install } = platform.newHost(HOST);
  const create = ['admin', 'node', 'create', HOST, '--region', REGION, '--gpu-model', 'H200 SXM', '--gpus', '8'];
  assert.match(operator.run([...create, '--mode', 'slice']).stderr, /enrolls only the host that an operator named/);
  const { enrollment } = operator.json<{ enrollment: EnrollmentGrant }>([
    ...create,
    ...['--mode', 'slice', '--serial', serial],
  ]);
  assert.equal(nextStep(), 'node_enrolled');
  host = install(enrollment);
  await eventually('its agent is connected', () => {
    assert.equal(host.child.exitCode, null, host.said());
    return operator.json(`admin node get ${HOST}`)['is_connected'] === true ? true : undefined;
  });
  assert.equal(nextStep(), 'node_discovered');
  operator.json(`admin node discover ${HOST} --wait`);
});

test('a discovered host is approved slot by slot, and its GPUs can be launched', async () => {
  assert.equal(nextStep(), 'node_approved');
  operator.json(`admin slot approve ${HOST} --all --yes`);
  await eventually('its slots are available', () => {
    const { items } = operator.json<List>(`admin node slots ${HOST}`);
    return items.length === 8 && items.every(({ status }) => status === 'available') ? true : undefined;
  });
  assert.equal(nextStep(), 'first_launch');
  await eventually('the host has fetched the default image', () => {
    const { steps } = operator.json<{ steps: readonly Body[] }>('admin setup');
    const launch = steps.find(({ key }) => key === 'first_launch');
    return /^Nothing was launched yet/.test(String(launch?.['detail'])) ? true : undefined;
  });
});

test('a person waits for approval, asks for GPUs and gets them', () => {
  assert.equal(tenant.run('login --dev --user dev-user').code, 0);
  const waiting = operator.json<List>('admin sign-up-request list --state pending').items;
  assert.equal(waiting.length, 1);
  operator.json(`admin sign-up-request approve ${waiting[0]?.['id']}`);
  tenant.json('login --dev --user dev-user');
  const launch = `launch early --sku ${SKU} --region ${REGION} --gpus 2`;
  assert.equal(tenant.run(launch).code, 6, 'a new organization has no GPUs');
  const { id } = tenant.json('quota request --gpus 8 --reason training');
  operator.json(`admin quota-request approve ${id} --gpus 4 --reason first`);
  assert.equal(tenant.run(`${launch} --dry-run`).code, 0);
});

const priceOf = (name: string): unknown =>
  tenant
    .json<{ items: { name: string; placement: { gpu_hourly_price: { amount_minor: number } } }[] }>('ls')
    .items.find((one) => one.name === name)?.placement.gpu_hourly_price.amount_minor;

test('a new price is that of the next launch, and a running allocation keeps its own', () => {
  tenant.json(`launch first --sku ${SKU} --region ${REGION} --gpus 2 --wait`);
  const site = exported();
  const prices = (site['prices'] as Body[]).map((price) => ({ ...price, gpu_hourly_price_minor: 500 }));
  assert.deepEqual(
    apply({ version: 1, prices }).map(({ section, action }) => [section, action]),
    [
      ['prices', 'update'],
      ['prices', 'update'],
    ],
  );
  tenant.json(`launch second --sku ${SKU} --region ${REGION} --gpus 1 --wait`);
  assert.deepEqual([priceOf('first'), priceOf('second')], [450, 500]);
  assert.equal(nextStep(), null);
});

test('what is used cannot be retired; afterwards the whole site can', async () => {
  const { quotas: _, ...site } = exported();
  const empty = {
    ...site,
    ...{ regions: [], skus: [], vm_profiles: [], prices: [], images: [], pools: [], group_mappings: [] },
  };
  writeFileSync(file, stringify(empty));
  const plan = operator.json<{ hash: string }>(`admin site plan -f ${file}`);
  const refused = operator.run(`admin site apply -f ${file} --hash ${plan.hash} --no-json`);
  assert.equal(refused.code, 5);
  assert.match(refused.stderr, /Region us-buffalo-1 is in use: 1 node \(slice-0001\), 2 allocations/);

  for (const name of ['first', 'second']) tenant.json(`release ${name} --yes --wait`);
  operator.json(`admin node drain ${HOST} --reason end`);
  operator.json(`admin node retire ${HOST} --reason end --yes`);
  await host.kill('SIGTERM');
  operator.json(`admin node delete ${HOST} --yes`);
  apply(empty);
  for (const what of ['region', 'sku', 'image']) assert.deepEqual(tenant.json<List>(`${what} list`).items, []);
  assert.equal(operator.run('admin invariants check').code, 0);
});
