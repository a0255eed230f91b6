/** Command lines about the topology of hosts, slots, disks and health. */

import { REASONS } from '../../server/src/domain/reasons.ts';
import { REFUSALS } from '../../server/src/domain/sentences.ts';
import { REPAIR_SLOT } from '../../server/src/domain/workflow-steps.ts';
import { Refusal } from './api.ts';
import type { Case } from './case.ts';
import { run } from './fixtures.ts';
import { placementIds } from './fixtures-allocation.ts';
import { placementAnswers } from './fixtures-placement.ts';
import { cleanMap, drifted, topologyAnswers } from './fixtures-topology.ts';

const T = '--no-json';
const { node } = placementIds;
const name = 'demo-h200-01';
const slot = 'slt_01k9zv3m8q4t6w2x5y7r0s1n1a';
const disk = 'dsk_01k9zv3m8q4t6w2x5y7r0s1n1a';

const line = (caseName: string, command: string, more: Partial<Case> = {}): Case => ({
  name: caseName,
  args: command.split(' '),
  ...more,
});

const { task, map } = topologyAnswers.adminNodeDiscoveryGet;
const listed = placementAnswers.adminNodeGet;
const clean = { adminNodeDiscoveryGet: { task, map: cleanMap } };

const unapproved = 'nod_01k9zv3m8q4t6w2x5y7r0s1n3a';
const mapped = placementAnswers.adminSlotMapList.items.map((row) => ({ ...row, node_id: unapproved, slots: [] }));

const DONE = { state: 'done', state_reason: null } as const;

const ofAnotherModel = {
  ...listed,
  free_gpus: 0,
  largest_set: 0,
  gpus_found: [{ vendor_device: '10de:2330', driver_name: null, gpu_model: 'H100 SXM', gpu_count: 8 }],
  gpu_model_conflict:
    'Node demo-h200-01 was added as H200 SXM, but discovery found 8 H100 SXM (10de:2330). Replace the GPUs, or retire the node and add it again with --gpu-model "H100 SXM".',
};

const withLooseDisks = {
  ...listed,
  free_gpus: 0,
  largest_set: 0,
  unapproved_disks: [
    { name: 'nvme3n1', serial: 'S6XNNE0W500002', is_wipe_pending: true },
    { name: 'nvme9n1', serial: null, is_wipe_pending: false },
  ],
};

export const topologyCases: readonly Case[] = [
  line('admin-node-get-other-gpus', `admin node get ${name} ${T}`, { answers: { adminNodeGet: ofAnotherModel } }),
  line('admin-node-get-unapproved-disks', `admin node get ${name} ${T}`, { answers: { adminNodeGet: withLooseDisks } }),
  line('admin-node-needs-list', `admin node list ${T}`, {
    answers: {
      adminNodeList: {
        items: [
          { ...listed, state: 'offline', is_connected: false, has_hardware_change: true, reboot_required: true },
          {
            ...listed,
            name: 'demo-h200-02',
            state: 'bootstrap_issued',
            is_connected: false,
            last_seen_at: null,
            free_gpus: 0,
          },
          { ...ofAnotherModel, name: 'demo-h200-04' },
          { ...withLooseDisks, name: 'demo-h200-05' },
          { ...listed, id: unapproved, name: 'demo-h200-03', occupancy: 'free', free_gpus: 0 },
        ],
        next_cursor: null,
      },
      adminSlotMapList: { items: mapped, next_cursor: null },
    },
  }),
  line('admin-node-discover', `admin node discover ${name} ${T}`),
  line('admin-node-discover-wait', `admin node discover ${node} --wait ${T}`, {
    answers: {
      adminNodeDiscoveryGet: (count) =>
        count === 0 ? { task: { ...task, state: 'running' }, map: null } : { task, map: cleanMap },
    },
  }),
  line('admin-node-discover-failed', `admin node discover ${node} --wait ${T}`, {
    answers: {
      adminNodeDiscoveryGet: {
        task: { ...task, state: 'expired', state_reason: REASONS.task_expired },
        map,
      },
    },
  }),
  line('admin-node-candidates-list', `admin node candidates ${name} ${T}`),
  line('admin-node-candidates-diff-list', `admin node candidates ${node} --diff ${T}`),
  line('admin-node-candidates-none', `admin node candidates ${node} ${T}`, {
    answers: { adminNodeDiscoveryGet: { task: { ...task, state: 'queued' }, map: null } },
  }),
  line('admin-node-candidates-undiscovered', `admin node candidates ${node} ${T}`, {
    answers: { adminNodeDiscoveryGet: new Refusal(404, 'not_found', REFUSALS.node_not_discovered(name)) },
  }),
  line('admin-node-facts-list', `admin node facts ${node} ${T}`),
  line('admin-slot-list', `admin slot list ${name} ${T}`),
  line('admin-slot-show', `admin slot show ${node} 0 ${T}`),
  line('admin-slot-show-hardware-change', `admin slot show ${node} ${slot} ${T}`, {
    answers: { adminNodeSlotGet: drifted },
  }),
  line('admin-slot-show-unknown', `admin slot show ${node} 7 ${T}`),
  line('admin-slot-approve', `admin slot approve ${name} --all --yes ${T}`, { answers: clean }),
  line('admin-slot-approve-json', `admin slot approve ${node} --slots 0,1 --wipe-method blkdiscard --yes`, {
    answers: clean,
  }),
  line('admin-slot-approve-needs-yes', `admin slot approve ${node} --slots 1 ${T}`, { answers: clean }),
  line('admin-slot-approve-blocked', `admin slot approve ${node} --all --yes ${T}`),
  line('admin-slot-approve-changed', `admin slot approve ${name} --all --yes ${T}`, {
    answers: {
      ...clean,
      adminNodeSlotApprove: new Refusal(412, 'precondition_failed', REFUSALS.newer_discovery),
    },
  }),
  line('admin-slot-approve-which', `admin slot approve ${node} ${T}`),
  line('admin-slot-disable', `admin slot disable ${node} ${slot} --reason fans ${T}`),
  line('admin-slot-enable', `admin slot enable ${node} 0 --reason fixed --if-match 4 ${T}`),
  line('admin-slot-quarantine', `admin slot quarantine ${node} ${slot} --reason strange ${T}`),
  line('admin-slot-repair', `admin slot repair ${name} ${slot} --reason replaced --yes ${T}`),
  line('admin-slot-repair-wait', `admin slot repair ${name} ${slot} --reason replaced --yes --wait ${T}`, {
    answers: {
      adminNodeSlotGet: { ...topologyAnswers.adminNodeSlotGet, status: 'available', allocation_id: null },
      adminWorkflowRunList: (count) => {
        const repairing = { ...run, subject_id: slot, workflow: REPAIR_SLOT.name, step: 'wipe' };
        const at = count === 0 ? { state: 'waiting' as const, state_reason: REPAIR_SLOT.steps.wipe.doing } : DONE;
        return { items: [{ ...repairing, ...at }], next_cursor: null };
      },
    },
  }),
  line('admin-slot-repair-stuck', `admin slot repair ${name} ${slot} --reason replaced --yes --wait ${T}`, {
    answers: {
      adminWorkflowRunList: {
        items: [
          {
            ...run,
            subject_id: slot,
            workflow: REPAIR_SLOT.name,
            step: 'wipe',
            state_reason: REPAIR_SLOT.steps.wipe.failed,
          },
        ],
        next_cursor: null,
      },
    },
  }),
  line('admin-slot-repair-needs-yes', `admin slot repair ${node} ${slot} --reason replaced ${T}`),
  line('admin-slot-mark-wiped', `admin slot mark-wiped ${node} ${slot} --reason replaced --yes ${T}`),
  line('admin-slot-mark-wiped-confirmed', `admin slot mark-wiped ${node} ${slot} --reason seen --yes ${T}`, {
    answers: {
      adminNodeSlotMarkWiped: {
        slot: { ...topologyAnswers.adminNodeSlotGet, status: 'available' },
        override: { ...topologyAnswers.adminNodeSlotMarkWiped.override, confirmed_by: 'usr_2', confirmed_at: 'now' },
      },
    },
  }),
  line('admin-disk-list', `admin disk list ${node} ${T}`),
  line('admin-disk-approve', `admin disk approve ${node} S6XNNE0W500002 --reason empty --yes ${T}`),
  line('admin-disk-approve-needs-yes', `admin disk approve ${name} S6XNNE0W500002 --reason empty ${T}`),
  line('admin-disk-exclude', `admin disk exclude ${node} S6XNNE0W500002 --reason mirror --yes ${T}`),
  line('admin-disk-revoke', `admin disk revoke ${node} ${disk} --reason mistake ${T}`),
  line('admin-health-show', `admin health show ${node} ${T}`),
  line('admin-health-probe', `admin health probe ${node} ${T}`),
  line(
    'admin-health-override',
    `admin health override set ${name} node-agent --mute gpu_temperature --for 4h --reason aisle ${T}`,
  ),
  line(
    'admin-health-override-replace',
    `admin health override set ${node} node-agent --replace --alert fans=loud --tenant-message Repairs. --prevents host-changes --reason fans ${T}`,
  ),
  line(
    'admin-health-override-no-alert',
    `admin health override set ${node} node-agent --mute fans --tenant-message Repairs. --reason fans ${T}`,
  ),
  line('admin-health-override-nothing', `admin health override set ${node} node-agent --reason fans ${T}`),
  line('admin-health-override-remove', `admin health override remove ${node} node-agent ${T}`),
  line('admin-clock-show', `admin clock show ${T}`),
  line('admin-clock-confirm', `admin clock confirm --reason checked --yes ${T}`),
  line('admin-health-breaker-show', `admin health breaker show ${T}`),
  line('admin-health-breaker-reset', `admin health breaker reset --reason checked --yes ${T}`),
  line('admin-restore-show', `admin restore show ${T}`),
  line('admin-restore-begin', `admin restore begin --older-than 2026-11-15T00:00:00Z --reason restored --yes ${T}`),
  line('admin-restore-begin-needs-yes', `admin restore begin --reason restored ${T}`),
  line('admin-restore-release', `admin restore release ${node} --accept-findings --reason compared --yes ${T}`),
];
