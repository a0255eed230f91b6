import Type from 'typebox';
import { Action, Closed, Money, Name, Nullable, Page, PageQuery, StringEnum, Time } from '../common.ts';
import { define } from '../define.ts';
import { Id } from '../ids.ts';
import { ExpectedCapacity } from './capacity.ts';
import { CAPACITY_SHAPES, imageName } from './catalog.ts';
import { FabricOffer } from './fabric.ts';
import { launchChoices, NETWORK_KINDS, networkChoice, STORAGE_KINDS, storageChoice } from './launch-choice.ts';
import { STEP_OUTCOMES } from './workflow-run.ts';

export const ALLOCATION_STATES = [
  'requested',
  'provisioning',
  'active',
  'releasing',
  'released',
  'failed',
  'release_failed',
] as const;
type AllocationState = (typeof ALLOCATION_STATES)[number];
/** The organization holds the allocation, and no release has begun. */
export const HELD_ALLOCATION_STATES = [
  'requested',
  'provisioning',
  'active',
] as const satisfies readonly AllocationState[];
/** Nothing happens to the allocation any more; after a failure its cleanup may still run. */
export const ENDED_ALLOCATION_STATES = ['failed', 'released'] as const satisfies readonly AllocationState[];
/** A workflow run moves the allocation on, before a deadline. */
export const MOVING_ALLOCATION_STATES = [
  'requested',
  'provisioning',
  'releasing',
] as const satisfies readonly AllocationState[];
/** Claims that remain wait for a wipe proof. */
export const CUSTODY_ALLOCATION_STATES = [
  'releasing',
  'release_failed',
  'failed',
] as const satisfies readonly AllocationState[];

/** Why GPUs are unavailable for a launch, as codes of `reasons[]`. `fabric`, `boot_kind` and `quota` depend on the request. */
export const UNAVAILABLE_REASONS = [
  'claimed',
  'cleaning',
  'cleanup_blocked',
  'quarantined',
  'unapproved',
  'hardware_changed',
  'unhealthy',
  'incomplete',
  'not_ready',
  'held',
  'fragmented',
  'fabric',
  'boot_kind',
  'quota',
] as const;

export const TAG_KEY_PATTERN = '^[a-z0-9][a-z0-9_.-]{0,62}$';
export const TAG_VALUE_PATTERN = '^[A-Za-z0-9 ._:/@+-]*$';
export const TAG_VALUE_LENGTH_MAX = 120;
export const TAGS_MAX = 32;

const Tags = Type.Record(
  Type.String({ pattern: TAG_KEY_PATTERN }),
  Type.String({ maxLength: TAG_VALUE_LENGTH_MAX, pattern: TAG_VALUE_PATTERN }),
  // Without this a name outside the grammar would be accepted, with any value.
  {
    additionalProperties: false,
    maxProperties: TAGS_MAX,
    description: 'Your own labels.',
    examples: [{ team: 'vision' }],
  },
);

/** SKU, shape and price as launched. Users never see the host or its devices. */
const Placement = Closed({
  gpu_count: Type.Integer(),
  vm_profile: Nullable(Type.String()),
  vcpu_count: Nullable(Type.Integer()),
  memory_mib: Nullable(Type.Integer()),
  gpu_hourly_price: Money,
});

/** What a workflow run is for. */
export const WORKFLOW_PHASES = ['launch', 'power', 'access', 'cleanup', 'repair'] as const;
export const PROGRESS_STEP_STATES = ['pending', 'running', 'done', 'failed', 'skipped'] as const;

const step = {
  label: Type.String({ description: 'Label of the step.', examples: ['Copy image'] }),
  percent: Nullable(Type.Integer({ description: 'Progress of the step; null if unknown.' })),
  expected_s: Nullable(
    Type.Integer({
      description: 'Usual duration: the median of recent runs, or a default. Null for steps without host work.',
    }),
  ),
  note: Nullable(Type.String({ description: 'Latest report of the agent.', examples: ['1 of 2 disks wiped'] })),
};

export const AllocationProgressStep = Closed({
  key: Type.String({ examples: ['cloneImage'] }),
  state: StringEnum(PROGRESS_STEP_STATES),
  started_at: Nullable(Time('When the step started; null before that.')),
  took_ms: Nullable(Type.Integer({ description: 'Duration of a step that ended.' })),
  ...step,
});

/** How far the work on an allocation is. Labels name no host and no device. */
export const AllocationProgress = Closed(
  {
    workflow: Type.String({ examples: ['provision-slice'] }),
    workflow_label: Type.String({ description: 'Label of the workflow.', examples: ['Launch'] }),
    phase: StringEnum(WORKFLOW_PHASES),
    step: Type.String({ description: 'Key of the current step.', examples: ['cloneImage'] }),
    ...step,
    step_number: Type.Integer({ description: 'From 1.' }),
    step_count: Type.Integer(),
    bytes_per_s: Nullable(Type.Integer()),
    started_at: Time('When the step started.'),
    overall_percent: Type.Integer({
      description: 'Progress of all steps, by their usual duration; below 100 until the end.',
    }),
    steps: Type.Array(AllocationProgressStep, { description: 'Every step in order; empty in lists.' }),
  },
  { description: 'Null when no work is in progress, and in responses to changes.' },
);

export const POWER_STATES = ['on', 'stopping', 'off', 'starting', 'rebooting', 'reinstalling', 'unknown'] as const;
/** A workflow run changes the power of the VM. */
export const MOVING_POWER_STATES = [
  'stopping',
  'starting',
  'rebooting',
  'reinstalling',
] as const satisfies readonly (typeof POWER_STATES)[number][];

/** Whether the VM of a slice runs. */
export const AllocationPower = Closed(
  {
    state: StringEnum(POWER_STATES),
    reason: Nullable(Type.String({ description: 'Why the last power change failed.' })),
    since: Time('When this state began.'),
    workflow_run_id: Nullable(Type.String({ description: 'The run that is changing it; null when none is.' })),
    is_charged: Type.Boolean({
      description: 'Always true: the GPUs stay allocated until the release.',
    }),
    install_number: Type.Integer({ description: 'Number of reinstallations.' }),
  },
  { description: 'Power of an active slice; null otherwise.' },
);

/** How its tenant connects. The guest OS reports the host key, so that clients need not trust the first connection. */
const SshAccess = Closed(
  {
    username: Type.String({ examples: ['ubuntu'] }),
    address: Nullable(
      Type.String({ description: 'Address in the private network of the slice.', examples: ['10.100.0.11'] }),
    ),
    port: Type.Integer({ examples: [22] }),
    host_key: Type.String({ description: 'Type and key, as in known_hosts.', examples: ['ssh-ed25519 AAAAC3Nz'] }),
  },
  { description: 'SSH access of an active allocation; null otherwise, in lists and in responses to changes.' },
);

/** What the platform reports to the tenant of a host with a problem. It names no host and no device. */
export const AllocationNotice = Closed({
  message: Type.String({ examples: ['A GPU of this allocation is too hot and throttles.'] }),
  since: Time('When the problem was first seen.'),
});

export const Allocation = Closed({
  id: Id('allocation'),
  project_id: Id('project'),
  name: Name('Unique among the live allocations of the project.'),
  capacity_shape: StringEnum(CAPACITY_SHAPES),
  sku_name: Type.String(),
  region_name: Type.String(),
  image_name: Nullable(
    Type.String({ description: 'Null for bare metal, which keeps the operating system of its node.' }),
  ),
  image_digest: Nullable(Type.String({ description: 'The version of the image, pinned at launch.' })),
  gpu_count: Type.Integer(),
  placement: Placement,
  storage: StringEnum(STORAGE_KINDS, { description: 'As chosen at launch; a reinstallation keeps it.' }),
  network: Nullable(
    StringEnum(NETWORK_KINDS, { description: 'Network of a slice; null for bare metal, which uses that of its node.' }),
  ),
  fabric: FabricOffer,
  state: StringEnum(ALLOCATION_STATES),
  state_reason: Nullable(Type.String()),
  state_since: Time('When this state began.'),
  state_deadline_at: Nullable(Time('Deadline of this state.')),
  progress: Nullable(AllocationProgress),
  power: Nullable(AllocationPower),
  notices: Type.Array(AllocationNotice, {
    description: 'Problems of the host that affect an active allocation, oldest first.',
  }),
  ssh_key_ids: Type.Array(Type.String()),
  ssh: Nullable(SshAccess),
  tags: Tags,
  is_protected: Type.Boolean({ description: 'Release is refused until protection is removed.' }),
  max_duration_s: Nullable(Type.Integer()),
  release_at: Nullable(Time('When it is released automatically.')),
  activated_at: Nullable(Time('When charging began.')),
  release_requested_at: Nullable(Time('When charging ended.')),
  released_at: Nullable(Time('When the wipe was verified.')),
  cost_so_far: Money,
  requested_by: Type.String(),
  correlation_id: Type.String(),
  version: Type.Integer(),
  created_at: Time('When it was requested.'),
  actions: Type.Array(Action),
});

export const TimelineEntry = Closed({
  sequence: Type.Integer(),
  workflow: Type.String({ examples: ['provision-slice'] }),
  workflow_label: Type.String({ description: 'Label of the workflow.', examples: ['Launch'] }),
  phase: Nullable(StringEnum(WORKFLOW_PHASES, { description: 'Null for a workflow that no longer exists.' })),
  step: Type.String(),
  label: Type.String({ description: 'Label of the step.', examples: ['Copy image'] }),
  attempt: Type.Integer(),
  outcome: StringEnum(STEP_OUTCOMES),
  detail: Nullable(Type.String()),
  started_at: Time('When it started.'),
  finished_at: Time('When it ended.'),
  duration_ms: Type.Integer(),
});

export const LaunchAlternative = Closed(
  {
    capacity_shape: StringEnum(CAPACITY_SHAPES),
    sku_name: Type.String(),
    region_name: Type.String(),
    gpu_count: Type.Integer(),
  },
  { description: 'An alternative that fits now. Merge it into the launch body and retry.' },
);

const launch = {
  sku_name: Name('SKU code.'),
  region_name: Name('Region code.'),
  gpu_count: Type.Integer({ minimum: 1, maximum: 64, examples: [1] }),
  image_name: Type.Optional(
    imageName(
      'Image slug of a slice; its newest version is pinned (default: the first default image of the SKU). Refused for bare metal.',
    ),
  ),
};

const ofProject = Closed({ project_id: Id('project') });
const params = Closed({ project_id: Id('project'), allocation_id: Id('allocation') });
export const SSH_KEYS_MAX = 32;
export const DURATION_MIN_S = 300;
export const DURATION_MAX_S = 31_536_000;
const MaxDuration = Type.Integer({
  minimum: DURATION_MIN_S,
  maximum: DURATION_MAX_S,
  description: 'Released automatically this long after activation.',
});
const tag = 'Allocations';

export const USER_DATA_BYTES_MAX = 65_536;
export const USER_DATA_PATTERN = '^(#cloud-config|#cloud-boothook|#!)[^\\u0000]*$';
/** The first line is checked here and the whole text by the host, before it is used. */
export const userData = (description: string) =>
  Type.String({
    minLength: 2,
    maxLength: USER_DATA_BYTES_MAX,
    pattern: USER_DATA_PATTERN,
    description: `Cloud-config or script for its first start, at most 64 KiB. ${description}`,
    examples: ['#cloud-config\npackages: [htop]\n'],
  });

export const allocationApi = define({
  allocationEstimate: {
    method: 'POST',
    path: '/api/v1/projects/{project_id}/allocations:estimate',
    tag,
    summary: 'Estimate price, quota and fit without launching',
    description: 'Reads only: takes no Idempotency-Key and leaves no audit row.',
    access: 'project',
    permission: 'allocation.read',
    audit: null,
    idempotency: 'none',
    params: ofProject,
    body: Closed(launch),
    status: 200,
    response: Closed({
      fits_now: Type.Boolean(),
      fits_on_nodes: Type.Integer({ description: 'Number of nodes that fit it now, at most 100.' }),
      largest_set: Type.Integer({ description: 'Largest GPU count that one allocation of this SKU can get now.' }),
      price_per_hour: Money,
      price_per_day: Money,
      price_per_month: Money,
      quota_gpus_after: Nullable(
        Type.Integer({ description: 'GPUs left in the quota after the launch; null without quota.' }),
      ),
      code: Nullable(Type.String({ description: 'Error code that a launch would return; null if it fits.' })),
      reasons: Type.Array(Type.Object({ code: Type.String() }, { additionalProperties: true }), {
        description: `The result, then one entry for each reason why GPUs are unavailable: ${UNAVAILABLE_REASONS.join(', ')}.`,
      }),
      alternatives: Type.Array(LaunchAlternative),
      ...launchChoices,
      fabric: FabricOffer,
      expected: Nullable(ExpectedCapacity),
    }),
  },
  allocationCreate: {
    method: 'POST',
    path: '/api/v1/projects/{project_id}/allocations',
    tag,
    summary: 'Launch a bare-metal node or a GPU slice',
    description: 'Returns 202 with the allocation; `progress` shows its steps. 409 returns reasons and alternatives.',
    access: 'project',
    permission: 'allocation.create',
    audit: 'allocation.create',
    idempotency: 'required',
    params: ofProject,
    body: Closed({
      name: Name(),
      ...launch,
      vm_profile: Type.Optional(Type.String({ pattern: '^[a-z0-9_]{1,64}$', examples: ['h200_1g_24c_64g'] })),
      ssh_key_ids: Type.Optional(Type.Array(Id('ssh_key'), { maxItems: SSH_KEYS_MAX, uniqueItems: true })),
      tags: Type.Optional(Tags),
      is_protected: Type.Optional(Type.Boolean()),
      max_duration_s: Type.Optional(MaxDuration),
      storage: storageChoice,
      network: networkChoice,
      user_data: Type.Optional(userData('For slices.')),
    }),
    status: 202,
    response: Allocation,
    location: '/api/v1/projects/{project_id}/allocations/{id}',
    errors: ['already_exists', 'insufficient_capacity', 'quota_exceeded', 'sku_disabled', 'region_disabled'],
  },
  allocationList: {
    method: 'GET',
    path: '/api/v1/projects/{project_id}/allocations',
    tag,
    summary: 'List allocations of the project, newest first',
    access: 'project',
    permission: 'allocation.read',
    audit: null,
    idempotency: 'none',
    params: ofProject,
    query: Closed({ ...PageQuery, state: Type.Optional(StringEnum(ALLOCATION_STATES)), name: Type.Optional(Name()) }),
    status: 200,
    response: Page(Allocation),
  },
  allocationGet: {
    method: 'GET',
    path: '/api/v1/projects/{project_id}/allocations/{allocation_id}',
    tag,
    summary: 'Get an allocation',
    access: 'project',
    permission: 'allocation.read',
    audit: null,
    idempotency: 'none',
    params,
    status: 200,
    response: Allocation,
  },
  allocationTimeline: {
    method: 'GET',
    path: '/api/v1/projects/{project_id}/allocations/{allocation_id}/timeline',
    tag,
    summary: 'Get the timeline of an allocation, oldest first',
    access: 'project',
    permission: 'allocation.read',
    audit: null,
    idempotency: 'none',
    params,
    query: Closed({ ...PageQuery }),
    status: 200,
    response: Page(TimelineEntry),
  },
  allocationUpdate: {
    method: 'PATCH',
    path: '/api/v1/projects/{project_id}/allocations/{allocation_id}',
    tag,
    summary: 'Change name, tags, protection or maximum duration',
    access: 'project',
    permission: 'allocation.update',
    audit: 'allocation.update',
    idempotency: 'none',
    ifMatch: true,
    params,
    body: Closed(
      {
        name: Type.Optional(Name()),
        tags: Type.Optional(Tags),
        is_protected: Type.Optional(Type.Boolean()),
        max_duration_s: Type.Optional(Nullable(MaxDuration)),
      },
      { minProperties: 1 },
    ),
    status: 200,
    response: Allocation,
    errors: ['already_exists', 'conflict'],
  },
  allocationRelease: {
    method: 'POST',
    path: '/api/v1/projects/{project_id}/allocations/{allocation_id}/release',
    tag,
    summary: 'Release an allocation; charging ends now, and GPUs are reused only after a verified wipe',
    description:
      'Accepted in every state that is not terminal, and again after release_failed. Refused while protected.',
    access: 'project',
    permission: 'allocation.release',
    audit: 'allocation.release',
    idempotency: 'required',
    params,
    body: Closed({}),
    status: 202,
    response: Allocation,
    location: '/api/v1/projects/{project_id}/allocations/{allocation_id}',
    errors: ['conflict'],
  },
});
