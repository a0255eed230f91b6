import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { mintId } from '@gpuaas/kit';
import { testDatabase } from '../../test/database.ts';
import { demoSlots, HGX_PARTITIONS } from '../../test/demo-fleet.ts';
import { assertInvariants } from '../../test/invariants.ts';
import { type Database, PLATFORM } from '../db/client.ts';
import { findNode, insertPool, type NewNode } from '../db/node.ts';
import { insertUser } from '../db/user.ts';
import { AppError } from '../errors.ts';
import { seedCatalog } from '../seed/demo-catalog.ts';
import { type Approval, approveSlots, type CandidateSlot, registerNode } from './approval.ts';

let database: Database;
const closers: (() => Promise<void>)[] = [];
const POOL = mintId('pol');
const OPERATOR = mintId('usr');

before(async () => {
  ({ database } = await testDatabase({ after: (fn) => void closers.unshift(fn) }));
  await seedCatalog(database);
  await database.write(PLATFORM, async (tx) => {
    await insertPool(tx, { id: POOL, name: 'shared', organization_id: null });
    const nobody = { email: null, email_verified: false, platform_role: null };
    await insertUser(tx, { id: OPERATOR, issuer: 'test', subject: 'operator', name: 'Operator', ...nobody });
  });
});
after(async () => {
  await assertInvariants(database);
  for (const close of closers) await close();
});

const newNode = async (facts: Partial<NewNode> = {}): Promise<string> => {
  const id = mintId('nod');
  const node: NewNode = {
    id,
    name: `node-${id.slice(4)}`,
    region_name: 'us-buffalo-1',
    pool_id: POOL,
    gpu_model: 'H200 SXM',
    gpu_count: 8,
    host_role: 'worker_compute',
    state: 'active',
    capacity_mode: 'slice',
    health: 'ok',
    booted_at: null,
    runtime_checked_at: new Date().toISOString(),
    is_runtime_passed: true,
    data_disks: [],
    ...facts,
  };
  await database.write(PLATFORM, (tx) => registerNode(tx, node));
  return id;
};

let hosts = 100;
/** Slots of a host that no other has; `change` alters the first. */
const newSlots = (change: Partial<CandidateSlot> = {}): CandidateSlot[] => {
  hosts += 1;
  return demoSlots(hosts).map(({ id: _, ...slot }, index) => (index === 0 ? { ...slot, ...change } : slot));
};
const approve = (approval: Pick<Approval, 'node_id'> & Partial<Approval>) =>
  database.write(PLATFORM, (tx) =>
    approveSlots(tx, {
      slots: newSlots(),
      partitions: HGX_PARTITIONS,
      approved_by: OPERATOR,
      discovery_task_id: mintId('tsk'),
      ...approval,
    }),
  );
const refusal = async (approval: Pick<Approval, 'node_id'> & Partial<Approval>): Promise<AppError> => {
  try {
    await approve(approval);
  } catch (err) {
    assert.ok(err instanceof AppError, String(err));
    return err;
  }
  return assert.fail('it was approved');
};
const freeOf = (id: string) => database.read(PLATFORM, (reader) => findNode(reader, id));

test('a registered node sells nothing until its slots are approved by a named operator', async () => {
  const node_id = await newNode();
  assert.equal((await freeOf(node_id))?.free_gpus, 0);
  await approve({ node_id });
  const node = await freeOf(node_id);
  assert.deepEqual([node?.free_gpus, node?.largest_set], [8, 8]);
  const { rows } = await database.read(PLATFORM, (reader) =>
    reader.query(
      'select count(*) as slots from node_resource_slots where node_id = $1 and approved_by = $2 and discovery_task_id is not null',
      [node_id, OPERATOR],
    ),
  );
  assert.deepEqual(rows, [{ slots: 8 }]);
});

test('each missing binding is named in plain words, and nothing is written', async () => {
  const node_id = await newNode();
  for (const [change, sentence] of [
    [{ gpu_pci_address: null }, 'Slot 0 has no GPU PCI address.'],
    [{ nvme_serial: null }, 'Slot 0 has no NVMe serial.'],
    [{ nvme_device: null }, 'Slot 0 has no NVMe device by id.'],
    [{ mac_address: null }, 'Slot 0 has no management MAC address.'],
    [{ private_ip: null }, 'Slot 0 has no private IP address.'],
    [{ fabric_vf_pci_address: null }, 'Slot 0 has no fabric VF PCI address.'],
    [{ wipe_method: null }, 'Slot 0 has no wipe policy.'],
    [{ nvme_device: '/dev/nvme0n1' }, 'Slot 0: "/dev/nvme0n1" is no NVMe device by id.'],
    [{ nvme_device: '/dev/disk/by-id/../../sda' }, 'Slot 0: "/dev/disk/by-id/../../sda" is no NVMe device by id.'],
    [{ slot_index: 31 }, 'Slot index 31 is not between 0 and 30.'],
    [{ slot_index: 3 }, 'Slots 3 and 3 share slot_index 3.'],
    [{ gpu_pci_address: '0000:3c:00.0' }, 'Slots 0 and 1 share gpu_pci_address 0000:3c:00.0.'],
  ] as const) {
    const error = await refusal({ node_id, slots: newSlots(change) });
    assert.deepEqual([error.code, error.message], ['invalid_request', sentence]);
  }
  const module = await refusal({ node_id, slots: newSlots({ module_id: null }) });
  assert.match(module.message, /Slot 0 has no module id, which its fabric needs\./);
  assert.match(module.message, /Fabric partition 0 names a module that no slot has\./);
  assert.equal((await freeOf(node_id))?.free_gpus, 0);
});

test('a disk or address that another approved slot has is refused with that node named', async () => {
  const [first, second] = [await newNode(), await newNode()];
  const slots = newSlots();
  await approve({ node_id: first, slots });
  const error = await refusal({
    node_id: second,
    slots: newSlots({ nvme_serial: slots[3]?.nvme_serial ?? '', mac_address: slots[4]?.mac_address ?? '' }),
  });
  assert.deepEqual(
    error.details.errors?.map(({ message }) => message),
    [
      `Slot 0: MAC address ${slots[4]?.mac_address} is bound to a slot of ${first}.`,
      `Slot 0: NVMe serial ${slots[3]?.nvme_serial} is bound to a slot of ${first}.`,
    ],
  );
});

test('only compute hosts hold slots, no more than they have GPUs, and only once', async () => {
  const control = await refusal({ node_id: await newNode({ host_role: 'app_control' }) });
  assert.equal(control.message, 'The node is app_control, not a compute host.');
  const small = await refusal({ node_id: await newNode({ gpu_count: 4 }) });
  assert.match(small.message, /^The node has 4 GPUs and 8 slots were given\./);
  const node_id = await newNode();
  await approve({ node_id });
  assert.equal((await refusal({ node_id })).code, 'conflict');
  assert.equal((await refusal({ node_id: mintId('nod') })).code, 'not_found');
});

test('an approval by nobody is refused by the database itself', async () => {
  const node_id = await newNode();
  await assert.rejects(approve({ node_id, approved_by: mintId('usr') }), { code: '23503' });
});

test('a board without NVSwitch has no partitions and any set is legal', async () => {
  const node_id = await newNode();
  await approve({ node_id, slots: newSlots({ module_id: null }), partitions: [] });
  assert.equal((await freeOf(node_id))?.largest_set, 8);
});

test('no slot is approved on a node that somebody holds', async () => {
  const id = await newNode({ capacity_mode: 'baremetal' });
  const occupy = (occupancy: string) =>
    database.write(PLATFORM, (tx) => tx.query('update nodes set occupancy = $2 where id = $1', [id, occupancy]));
  await occupy('cleaning');
  await assert.rejects(
    approve({ node_id: id }),
    (err) => err instanceof AppError && err.code === 'conflict' && /nobody holds it/.test(err.message),
  );
  await occupy('free');
});
