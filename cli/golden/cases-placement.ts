/** Command lines about launching, capacity and the fleet. */

import type { Allocation } from '@gpuaas/sdk';
import { releaseRefusal } from '../../server/src/domain/allocation-actions.ts';
import { fabricOf } from '../../server/src/domain/fabric.ts';
import { launchChoices } from '../../server/src/domain/launch-choice.ts';
import { REFUSALS } from '../../server/src/domain/sentences.ts';
import { RELEASE_ALLOCATION } from '../../server/src/domain/workflow-steps.ts';
import { Refusal } from './api.ts';
import type { Case } from './case.ts';
import {
  allocation,
  estimate,
  noticed,
  placementIds,
  provisioning,
  refused,
  released,
  releasing,
} from './fixtures-allocation.ts';
import { adminAllocation, entries, placementAnswers, plan } from './fixtures-placement.ts';
import { snapshot } from './fixtures-snapshot.ts';

const T = '--no-json';
const { allocation: id, node } = placementIds;

const line = (name: string, command: string, more: Partial<Case> = {}): Case => ({
  name,
  args: command.split(' '),
  ...more,
});

const LAUNCH = '--sku h200-sxm-slice --region eu-north-1 --gpus 4';
const files = { 's.json': JSON.stringify(snapshot) };
const failed: Allocation = {
  ...provisioning,
  state: 'failed',
  state_reason: 'The image does not boot.',
  progress: null,
  actions: [],
};
const page = <T>(items: readonly T[]) => ({ items: [...items], next_cursor: null });
/** The image is being copied at the first read, and the VM is active at the next. */
const toActive: Case['answers'] = {
  allocationGet: (count) => (count === 0 ? provisioning : allocation),
  allocationTimeline: (count) => page(count === 0 ? entries.slice(0, 2) : entries),
};
const copying: Case['answers'] = {
  allocationGet: provisioning,
  allocationTimeline: page(entries.slice(0, 2)),
};
const { progress } = provisioning;
const erasing = {
  ...releasing,
  progress: progress && {
    ...progress,
    workflow: RELEASE_ALLOCATION.name,
    step: 'wipe',
    label: RELEASE_ALLOCATION.steps.wipe.label,
    step_count: 3,
    percent: null,
    bytes_per_s: null,
  },
};
const sentence =
  '11 GPUs are free, but no single node fits 4; the largest set is 2. Fits now: 2 GPUs of h200-sxm-slice in eu-north-1.';

export const placementCases: readonly Case[] = [
  line('help-launch', 'launch --help'),
  line('allocation-create', `allocation create train ${LAUNCH} ${T}`),
  {
    name: 'allocation-create-everything',
    args: [
      ...`allocation create train ${LAUNCH} --image ubuntu-24.04-h200-cuda --vm-profile h200_4g_96c_256g`.split(' '),
      ...'--ssh-key laptop --tag team=vision --protect --max-duration 4h --idempotency-key my-key-0002'.split(' '),
      ...'--storage formatted --network private_nat --user-data setup.sh'.split(' '),
    ],
    files: { 'setup.sh': '#!/bin/sh\n' },
  },
  line('allocation-create-bad-tag', `allocation create train ${LAUNCH} --tag team ${T}`),
  line('allocation-create-bad-duration', `allocation create train ${LAUNCH} --max-duration 4hours ${T}`),
  line('allocation-create-wait', `launch train ${LAUNCH} --wait ${T}`, {
    answers: toActive,
  }),
  line('allocation-create-wait-json', `launch train ${LAUNCH} --wait`, { answers: { allocationGet: allocation } }),
  line('allocation-create-failed', `allocation create train ${LAUNCH} --wait ${T}`, {
    answers: { allocationGet: failed },
  }),
  line('allocation-create-timeout', `launch train ${LAUNCH} --wait --timeout 1s --project default ${T}`, {
    answers: copying,
  }),
  line('allocation-create-interrupted', `launch train ${LAUNCH} --wait ${T}`, {
    answers: copying,
    interruptAfter: 'step 2 of 5',
  }),
  {
    name: 'allocation-create-refused',
    args: [
      ...`allocation create train ${LAUNCH} --vm-profile h200_4g_96c_256g --max-duration 90m --storage formatted --project default`.split(
        ' ',
      ),
      ...['--tag', "owner=Ada's team", T],
    ],
    answers: { allocationCreate: new Refusal(409, 'insufficient_capacity', sentence, refused) },
  },
  {
    name: 'allocation-create-refused-choices',
    args: [
      ...`allocation create train ${LAUNCH} --image ubuntu-24.04-h200-cuda --vm-profile h200_4g_96c_256g`.split(' '),
      ...`--storage formatted --network private_nat --user-data setup.sh ${T}`.split(' '),
    ],
    files: { 'setup.sh': '#!/bin/sh\ntrue\n' },
    answers: {
      allocationCreate: new Refusal(409, 'insufficient_capacity', sentence, {
        ...refused,
        alternatives: refused.alternatives.map((one, at) => (at === 0 ? { ...one, gpu_count: 1 } : one)),
      }),
    },
  },
  line('allocation-create-refused-json', `allocation create train ${LAUNCH}`, {
    answers: { allocationCreate: new Refusal(409, 'insufficient_capacity', sentence, refused) },
  }),
  line('allocation-create-quota', `allocation create train ${LAUNCH} ${T}`, {
    answers: {
      allocationCreate: new Refusal(409, 'quota_exceeded', '4 GPUs requested, 2 left in the quota.', {
        reasons: [{ code: 'quota_exceeded', gpus: 2, detail: '4 GPUs requested, 2 left in the quota.' }],
      }),
    },
  }),
  line('allocation-create-dry-run', `allocation create train ${LAUNCH} --dry-run ${T}`),
  line('allocation-create-dry-run-json', `allocation create train ${LAUNCH} --dry-run`),
  line('allocation-create-dry-run-refused', `launch train ${LAUNCH} --dry-run ${T}`, {
    answers: {
      allocationEstimate: {
        ...estimate,
        ...refused,
        fits_now: false,
        fits_on_nodes: 0,
        largest_set: 2,
        code: 'insufficient_capacity',
      },
    },
  }),
  line(
    'allocation-create-dry-run-storage',
    `launch one --sku h200-sxm-slice --region eu-north-1 --gpus 1 --storage formatted --dry-run ${T}`,
    {
      answers: {
        allocationEstimate: {
          ...estimate,
          ...launchChoices({ capacity_shape: 'gpu_slice', gpu_count: 1, fabric_isolation: 'none' }),
        },
      },
    },
  ),
  line(
    'allocation-create-dry-run-bare-metal',
    `launch all --sku h200-sxm-bm --region eu-north-1 --gpus 8 --dry-run ${T}`,
    {
      answers: {
        allocationEstimate: {
          ...estimate,
          ...launchChoices({ capacity_shape: 'baremetal', gpu_count: 8, fabric_isolation: 'none' }),
          fabric: fabricOf({ capacity_shape: 'baremetal', fabric_isolation: 'none' }),
        },
      },
    },
  ),
  line('allocation-list', `allocation list ${T}`),
  line('allocation-list-state', 'ls --state active --limit 1'),
  line('allocation-get', `allocation get train ${T}`, {
    answers: { allocationGet: () => ({ ...allocation, release_at: new Date(Date.now() + 9_030_000).toISOString() }) },
  }),
  line('allocation-get-notices', `allocation get ${id} ${T}`, { answers: { allocationGet: noticed } }),
  line('allocation-list-notices', `ls ${T}`, {
    answers: { allocationList: { items: [noticed], next_cursor: null } },
  }),
  line('allocation-get-provisioning', `get ${id} ${T}`, { answers: copying }),
  line('allocation-watch', `allocation watch train ${T}`, { answers: toActive }),
  line('allocation-watch-json', `allocation watch ${id}`, { answers: toActive }),
  line('allocation-watch-failed', `allocation watch ${id} ${T}`, {
    answers: {
      allocationGet: (count) => (count === 0 ? provisioning : failed),
      allocationTimeline: (count) =>
        page([
          ...entries.slice(0, 2),
          ...entries
            .slice(2, count + 2)
            .map((entry) => ({ ...entry, outcome: 'stuck' as const, detail: 'The image could not be copied.' })),
        ]),
    },
  }),
  line('allocation-watch-released', `allocation watch ${id} ${T}`, {
    answers: { allocationGet: (count) => (count === 0 ? erasing : released), allocationTimeline: page([]) },
  }),
  line('allocation-watch-interrupted', `allocation watch ${id} ${T}`, {
    answers: copying,
    interruptAfter: 'step 2 of 5',
  }),
  line('allocation-get-failed', `get ${id} ${T}`, { answers: { allocationGet: failed } }),
  line('allocation-get-unknown', `get nothing ${T}`, { answers: { allocationList: { items: [], next_cursor: null } } }),
  line('allocation-timeline', `allocation timeline train ${T}`),
  line('allocation-wait', `allocation wait ${id} --for released ${T}`, { answers: { allocationGet: released } }),
  line('allocation-update', `allocation update train --name eval --tag team=nlp --untag stage --no-protect ${T}`),
  line('allocation-update-duration', `allocation update ${id} --unlimited --if-match 2`, {
    answers: { allocationUpdate: new Refusal(412, 'precondition_failed', REFUSALS.changed(4)) },
  }),
  line('allocation-update-nothing', `allocation update train ${T}`),
  line('allocation-release', `allocation release train --yes ${T}`),
  line('allocation-release-needs-yes', `release ${id} ${T}`),
  line('allocation-release-protected', `release ${id} --yes ${T}`, {
    answers: { allocationRelease: new Refusal(409, 'conflict', releaseRefusal(allocation)?.reason ?? '') },
  }),
  line('allocation-release-wait', `release ${id} --yes --wait ${T}`, {
    answers: { allocationGet: (count) => (count === 0 ? releasing : released) },
  }),
  line('allocation-release-blocked', `release ${id} --yes --wait ${T}`, {
    answers: {
      allocationGet: { ...releasing, state: 'release_failed', state_reason: 'The disk wipe could not be verified.' },
    },
  }),
  line('allocation-release-timeout', `release ${id} --yes --wait --timeout 1s ${T}`, {
    answers: { allocationGet: releasing },
  }),
  line('capacity-list', `capacity list ${T}`),
  line('quota-get', `quota get ${T}`),
  line('usage-list', `usage list --allocation train ${T}`),
  line('usage-summary', `usage summary ${T}`),
  line('usage-summary-json', 'usage summary'),

  line('admin-allocation-list', `admin allocation list --state active --node demo-h200-01 ${T}`),
  line('admin-allocation-get', `admin allocation get ${id} ${T}`, {
    answers: { adminAllocationGet: { ...adminAllocation, allocation: { ...allocation, max_duration_s: null } } },
  }),
  line('admin-allocation-force-release', `admin allocation force-release ${id} --reason abuse --yes --wait ${T}`, {
    answers: { adminAllocationGet: { ...adminAllocation, allocation: released } },
  }),
  line(
    'admin-allocation-force-release-charge-until',
    `admin allocation force-release ${id} --charge-until 2026-11-15T00:00:00Z --reason restored --yes ${T}`,
  ),
  line('admin-allocation-force-cleanup', `admin allocation force-cleanup ${id} --reason seen --yes ${T}`),
  line(
    'admin-allocation-force-cleanup-adopt',
    `admin allocation force-cleanup ${id} --reason restored --adopt-host-generation --yes ${T}`,
    {
      answers: {
        adminNodeSlotList: {
          items: placementAnswers.adminNodeSlotList.items.map((slot) => ({ ...slot, host_generation: 7 })),
          next_cursor: null,
        },
      },
    },
  ),
  line(
    'admin-allocation-force-cleanup-adopt-nothing',
    `admin allocation force-cleanup ${id} --reason restored --adopt-host-generation --yes ${T}`,
  ),
  line(
    'admin-allocation-force-cleanup-absent',
    `admin allocation force-cleanup ${id} --reason seen --runtime-verified-absent --yes`,
  ),
  line('admin-node-list', `admin node list --region eu-north-1 --state active ${T}`),
  line('admin-node-get', `admin node get demo-h200-01 ${T}`),
  line('admin-node-slots', `admin node slots ${node} ${T}`),
  line('admin-node-clear-failures', `admin node clear-failures ${node} --reason recabled ${T}`),
  line('admin-node-hold', `admin node hold ${node} --reason acme ${T}`),
  line('admin-node-drain', `admin node drain ${node} --reason fans ${T}`),
  line('admin-node-resume', `admin node resume ${node} --reason fixed ${T}`, {
    answers: { adminNodeDrain: { ...placementAnswers.adminNodeDrain, state: 'active' } },
  }),
  line('admin-node-convert', `admin node convert ${node} --to baremetal --yes ${T}`),
  line('admin-node-convert-json', `admin node convert ${node} --to baremetal --yes`),
  line('admin-node-convert-needs-yes', `admin node convert ${node} --to baremetal ${T}`),
  line('admin-node-convert-dry-run', `admin node convert ${node} --to baremetal --dry-run`),
  line('admin-node-convert-blocked', `admin node convert ${node} --to baremetal --yes ${T}`, {
    answers: {
      adminNodeConvertPlan: {
        ...plan,
        is_possible: false,
        blockers: [`Allocation ${id} holds 2 GPUs.`],
        live_claims: 2,
        steps: [],
      },
    },
  }),
  line('admin-node-convert-changed', `admin node convert ${node} --to baremetal --yes ${T}`, {
    answers: {
      adminNodeConvert: new Refusal(412, 'precondition_failed', REFUSALS.plan_changed),
    },
  }),
  {
    name: 'admin-hold-create',
    args: [...'admin hold create --region eu-north-1 --nodes 1 --reason acme --gpu-model'.split(' '), 'H200 SXM', T],
  },
  {
    name: 'admin-hold-create-short',
    args: [...'admin hold create --region eu-north-1 --nodes 9 --reason acme --gpu-model'.split(' '), 'H200 SXM', T],
    answers: {
      adminHoldCreate: new Refusal(409, 'insufficient_capacity', REFUSALS.too_few_free_nodes(3, 9), {
        reasons: [{ code: 'insufficient_capacity', nodes: 3, requested: 9 }],
      }),
    },
  },
  line('admin-capacity-list', `admin capacity list ${T}`),
  line('admin-capacity-history', `admin capacity history --region eu-north-1 ${T}`),
  line('admin-slot-map', `admin slot map --region eu-north-1 ${T}`),
  line('admin-quota-list', `admin quota list --in-organization ada ${T}`),
  line('admin-quota-set', `admin quota set ada --gpus 96 ${T}`),
  line('admin-quota-set-nothing', `admin quota set ada ${T}`),
  line('admin-scheduler-snapshot', `admin scheduler snapshot --region eu-north-1 --limit 10 ${T}`),
  line('admin-scheduler-explain', `admin scheduler explain s.json ${LAUNCH} ${T}`, { files }),
  line('admin-scheduler-explain-refused', `admin scheduler explain - ${LAUNCH.replace('4', '8')} ${T}`, {
    stdin: files['s.json'],
  }),
  line('admin-scheduler-explain-json', `admin scheduler explain s.json ${LAUNCH} --quota-left 2`, { files }),
  line('admin-scheduler-explain-other-file', `admin scheduler explain s.json ${LAUNCH} ${T}`, {
    files: { 's.json': '{}' },
  }),
  line('admin-invariants-check', `admin invariants check ${T}`),
  line('admin-invariants-check-violated', `admin invariants check ${T}`, {
    answers: {
      adminInvariantCheck: {
        is_clean: false,
        checked_at: '2026-11-15T10:03:21.000Z',
        violations: [
          {
            invariant: 'quota_matches_claims',
            subject_id: allocation.project_id,
            detail: 'used 5, claims hold 4',
          },
        ],
        checks: 34,
      },
    },
  }),
  line('admin-claims-backfill', `admin claims backfill --dry-run ${T}`),
  line('admin-claims-backfill-needs-yes', `admin claims backfill ${T}`),
];
