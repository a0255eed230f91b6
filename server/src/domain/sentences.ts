/** The sentences by which operations refuse. The services and the console's mock API share them, so that they cannot differ. */

/** Whom to ask, as the last sentence of a refusal. */
const askText = (contact: string | null, ask = 'Ask'): string => `${ask} ${contact ?? 'the operators of this site'}.`;

export const REFUSALS = {
  internal: 'An internal error occurred. The request changed nothing.',
  bad_path: 'The path is not a valid URL path.',
  no_resource: 'No resource exists at this path.',
  content_type: 'The content type of the body is not supported.',
  cursor: 'The cursor is not valid for this operation.',
  cursor_unchanged: 'Send the next_cursor of the previous page, unchanged.',
  body_not_json: 'The body is not valid JSON.',
  methods_of_path: (methods: readonly string[]) => `This path takes ${methods.join(', ')}.`,
  sign_in_clock: (cause: string) =>
    `${cause} The clocks of this site and of the identity provider differ. Report it to your operators: signing in again does not help.`,
  web_session_ended: 'The web session has ended. Sign in again.',
  denied: (policy: string) => `Permission denied: ${policy}.`,
  none_named: (noun: string, name: string) => `No ${noun} named "${name}".`,
  events_gone: 'The events after that ID are no longer available.',
  events_restored: 'The database was restored to an earlier time, so this stream cannot continue.',
  etag_missing: 'Send the ETag of the resource in If-Match.',
  etag_malformed: 'If-Match is not an ETag of this API.',
  idempotency_key_missing: 'This operation needs an Idempotency-Key header.',
  idempotency_key_malformed: 'The Idempotency-Key must be 8 to 128 printable characters without spaces.',
  idempotency_key_reused: 'This Idempotency-Key was used for a different request.',
  idempotency_in_flight: 'A request with this Idempotency-Key is still running.',
  changed: (version: number) => `The resource changed since you read it. Its ETag is now "v${version}".`,

  key_installed_at_launch: 'The key was installed at launch and already has access.',
  key_already_granted: 'The key is already granted.',
  grant_of_others: 'Only its owner, its grantor or a project admin can revoke this grant.',
  session_ended_early: (name: string) => `${name} ended the session before it opened.`,
  session_ended_elsewhere: 'You ended the session from elsewhere.',
  session_ended_by_admin: 'A project admin ended the session.',
  session_of_others: 'Only its owner or a project admin can end this session.',
  session_not_recorded: (level: 'organization' | 'project') =>
    level === 'organization'
      ? 'The access policy of the organization forbids sessions that are not recorded. Open a terminal (gpuaas terminal), or ask an admin of the organization to change the policy.'
      : 'This project forbids sessions that are not recorded. Open a terminal (gpuaas terminal), or ask an admin of the project to change that.',
  console_only: 'You have read access to the console only. Other sessions need allocation.connect.',

  sign_up_closed: (contact: string | null) =>
    `Sign-up is closed: no new accounts are created here. ${askText(contact)}`,
  sign_up_invited: (email: string | null, contact: string | null) =>
    email === null
      ? `Sign-up is by invitation, and your identity provider has not verified an email address of yours. ${askText(contact)}`
      : `Sign-up is by invitation, and there is no pending invitation for ${email}. Ask an owner of the organization that you want to join for one. ${askText(contact, 'Otherwise ask')}`,
  sign_up_domain: (email: string | null, contact: string | null) =>
    email === null
      ? `Sign-up needs an email address that your identity provider has verified. ${askText(contact)}`
      : `Sign-up is open to other email domains than that of ${email}. ${askText(contact)}`,
  /** In place of the others until there is a superadmin; afterwards no refusal names the setting. */
  sign_up_before_superadmin: (email: string | null) =>
    `This site has no superadmin yet. Other users can sign up afterwards. To become the first superadmin, set GPUAAS_SUPERADMIN_EMAILS of gpuaas-api to your verified email address, restart gpuaas-api, then sign in. ${
      email === null ? 'Your identity provider has not verified an email address of yours.' : `Yours is ${email}.`
    } See doc/operations/setup.md.`,
  sign_up_decided: (state: string) => `The sign-up is already ${state}.`,
  organization_by_operator: (contact: string | null) =>
    `The policy of this site lets only operators create organizations. ${askText(contact)}`,
  one_owner: 'Name one owner: owner_user_id or owner_email.',
  user_not_active: (state: string) => `The user is ${state}; an owner must be active.`,
  user_pending: 'The sign-up of this user is not decided. Approve or reject it: gpuaas admin sign-up-request list.',
  membership_by_group:
    'A group of the identity provider gives this membership, and its role follows the group. Change the group there, or ask an operator to change the mapping.',
  group_members: (count: number) =>
    `The export of the groups cannot be used: ${count === 1 ? 'one part is' : `${count} parts are`} wrong. Nothing was changed.`,
  group_sync_changed: 'The groups or memberships have changed since the plan with this hash. Plan again.',
  group_sync_warnings: (warnings: readonly string[]) =>
    `The export may be incomplete: ${warnings.join(' ')} Nothing was changed. Export it again, or accept the warnings.`,
  group_mapping_exists: 'This group already has a role there. Delete that mapping first.',
  quota_request_open: 'A request for this limit is open. Wait for the decision, or withdraw it first.',
  quota_request_decided: (state: string) => `The request is already ${state}.`,
  quota_request_needless: (limit: number | null) =>
    limit === null
      ? 'There is no GPU limit at this level. Nothing needs to be requested.'
      : `The limit is ${limit} already. Request a higher one.`,
  quota_request_reached: (limit: number | null, granted: number) =>
    limit === null
      ? 'There is no GPU limit at this level by now, so an approval would lower it. Reject the request.'
      : `The limit is ${limit} by now, so ${granted} would not raise it. Reject the request, or grant more than ${limit}.`,
  /** Of a launch above the quota. */
  quota_launch: 'The GPU quota does not allow this launch.',
  quota_request_how: 'Request a larger limit: gpuaas quota request --gpus <limit> --reason <text>.',

  organization_name_taken: (name: string) => `The name "${name}" is taken.`,
  owner_by_owner: 'Only an owner can add or remove owners.',
  last_owner: 'The last owner cannot be removed or demoted. Add another owner first.',
  last_superadmin: 'The last active superadmin cannot be demoted or disabled.',
  invite_owner: 'Only an owner can invite an owner.',
  invitation_ended: (state: string) => `The invitation is already ${state}.`,
  already_member: 'You are already a member of this organization.',
  invited_by_self: 'You created this invitation, so you cannot accept it. Ask another owner or admin to invite you.',
  inviter_demoted:
    'The user who invited you can no longer invite to this role. Ask an owner or admin of the organization to invite you.',
  kept_by_owner:
    'A group of the identity provider gives your membership, and only an owner can make it independent of the group. Ask an owner to invite you.',
  project_name_taken: (name: string) => `A project named "${name}" exists in this organization.`,
  service_account_name_taken: (name: string) => `A service account named "${name}" exists in this project.`,
  wrong_client_secret: 'The client ID or secret is wrong, or the account is disabled.',
  agent_updating: 'An update of this agent is already running.',
  not_a_network: (network: string) => `${network} is not a network address.`,
  no_service_account_scope: 'None of the scopes includes a permission of service accounts.',
  service_account_disabled: 'The service account is disabled.',
  ssh_key_name_taken: (name: string) => `You already have a key named "${name}".`,
  ssh_key_added: 'You already added this key under another name.',

  being_provisioned: 'The allocation is being provisioned. Wait until it is active.',
  allocation_released: 'The allocation is released. Launch another.',
  allocation_failed: 'The allocation has failed. Launch another.',
  allocation_protected: 'The allocation is protected. Remove the protection first.',
  allocation_name_taken: (name: string) => `A live allocation named "${name}" exists in this project.`,
  no_certificate: (state: string) => {
    switch (state) {
      case 'releasing':
        return 'The disks are being wiped. The certificate is available after the release.';
      case 'release_failed':
        return 'The disk wipe is not verified yet. Operators are notified, and nothing is charged. Release the allocation again to retry.';
      case 'failed':
        return 'The allocation failed and is being cleaned up. The certificate is available after the wipe is verified.';
      case 'released':
        return 'The wipe proofs of this allocation were deleted: certificates are available for some years after the release.';
      default:
        return `The allocation is ${state}. The certificate is available after the release and the wipe.`;
    }
  },
  nothing_to_clean: 'Everything it held is already clean.',

  agent_never_connected: 'The agent of this node has never connected. Enroll it first.',
  no_discovery: 'This node has no discovery yet. Run discovery first.',
  host_value_unusable: (field: string) =>
    `The ${field} identifies no host: its format is wrong, or it is a placeholder of the vendor. Name another field.`,
  host_is_bound: 'The node is bound to another host. To replace the host, drain the node and rebind it.',
  host_has_node: (host: string, name: string) =>
    `The host with ${host} is node "${name}" already. Retire that node first, or correct the identity.`,
  node_name_taken: (name: string) => `A node named "${name}" exists.`,
  plan_changed: 'The node changed since the plan was made. Review the plan again.',
  too_few_free_nodes: (free: number, requested: number) =>
    `${free} of ${requested} requested nodes are free and eligible for bare metal.`,
  newer_discovery: 'A newer discovery exists; review and approve it.',
  no_candidate: (indexes: readonly number[]) => `The discovery has no candidate ${indexes.join(', ')}.`,
  slot_claimed: 'An allocation holds the slot. Release it first.',
  slot_changed: 'The slot changed since you read it. Review and retry.',
  no_such_disk: 'The latest discovery found no disk with this serial on this node.',
  disk_approved: 'This disk is already approved.',
  disk_excluded: 'This disk is excluded from wiping. Revoke its exclusion first.',
  disk_has_decision: 'This disk is already approved or excluded. See gpuaas admin disk list.',
  disk_of_slot: (slotIndex: number) => `The disk belongs to slot ${slotIndex} and is wiped with it.`,
  disk_not_revocable: (state: string) =>
    `The disk is ${state}; only an approval without a completed wipe can be revoked.`,
  vm_unmanaged: 'GPUaaS does not manage this VM. Remove it on the host.',
  vm_claimed: 'A claim holds the VM. Release its allocation instead.',
  lease_claimed: 'The allocation has a claim. Release it instead.',
  breaker_not_tripped: 'The circuit breaker is not tripped.',
  clock_not_held: 'The clock of the database is trusted. Nothing waits for a confirmation.',

  backup_from_future: 'The backup is from the future. Send the time at which it began.',
  image_registered: 'This digest is already registered under this name. A version cannot be changed or restored.',
  image_retired: 'This version is already retired.',
  disabled_reason: 'disabled_reason is required: users see it.',
  catalog_name_taken: (noun: string, name: string) =>
    `A ${noun} named "${name}" exists. Update it, or choose another name.`,
  catalog_retired: (noun: string, name: string) =>
    `The ${noun} ${name} is retired. ${noun === 'image' ? 'Register' : 'Create'} it again to bring it back.`,
  price_time_taken: 'The SKU has another price from this time. Cancel that one first, or choose another time.',
  price_begun: (state: string) =>
    `The price is ${state}; only a future price can be cancelled. Set a new price instead.`,
  pool_has_nodes: (name: string, count: number) =>
    `Pool ${name} has ${count} ${count === 1 ? 'node' : 'nodes'}. Move them to another pool before its organization changes.`,
  node_serves_others: (pool: string, allocations: readonly string[]) =>
    `Pool ${pool} is dedicated to another organization, and these allocations hold the node: ${allocations.join(', ')}. Wait until they are released.`,
  node_not_discovered: (node: string) =>
    `Node ${node} has no discovery yet. To start one: gpuaas admin node discover ${node} --wait. Then repeat the command.`,
  node_not_movable: (state: string) => `The node is ${state} and cannot move to another pool.`,
  site_file_problems: (count: number) =>
    `The site file has ${count === 1 ? 'a problem' : `${count} problems`}. Nothing was changed.`,
  site_changed: 'The site or the file changed since the plan. Plan again and review.',
  site_blocked: (blockers: readonly string[]) => `The site file cannot be applied. ${blockers.join(' ')}`,
  image_name_case: 'An image exists whose name differs only in case. Use that name.',
  image_gone: (name: string) => `The image ${name} is already retired.`,

  rotation_running: (version: number) =>
    `Values sealed with version ${version} are still being sealed again. Wait until it is retired.`,
  no_newer_key: (kind: string, next: number) =>
    `No process holds a newer ${kind} key. Add version ${next} to GPUAAS_${kind.toUpperCase()}_KEY of every process that has the setting, restart them one by one, and retry.`,
  key_not_everywhere: (version: number, services: readonly string[]) =>
    `Version ${version} is missing in running processes: ${services.join('; ')}. Add it there, restart them and retry. A crashed process counts for 60 s.`,
  key_staged: 'A key of this purpose is already staged. Activate or retire it first.',
  key_not_staged: (state: string) => `The key is ${state}; only a staged key becomes active.`,
  key_not_retirable: (state: string) => `The key is ${state}; only a staged key or a key in grace can be retired.`,
  key_active: 'The key is the active one. Activate another first.',
  key_not_revocable: (state: string) => `The key is already ${state}.`,

  run_ended: 'The run has already ended.',
  run_without_step: (workflow: string, step: string, steps: readonly string[]) =>
    `${workflow} has no step ${step}; its steps are ${steps.join(', ')}.`,

  operators_only: 'Only operators can do this.',
  no_records: 'No records exist for this ID.',
} as const;

/** What is wrong with one field of a request; the name of the field stands before it. */
export const FIELD_MESSAGES = {
  not_with_hard: 'cannot be combined with is_hard',
  image_unusable: (sku: string) => `names no image that runs on ${sku}`,
  image_not_startable: 'names an image that the host of this VM cannot start. Choose another image',
  image_needed: (sku: string, region: string) =>
    `is required: ${sku} has no default image in ${region}. Choose one: gpuaas image list --sku ${sku}`,
  region_without_host: (region: string) =>
    `names a region without an active host: ${region}. Choose another one: gpuaas region list`,
  image_of_slice: (sku: string) =>
    `is for slices only: ${sku} is bare metal, which keeps the operating system of its node. Leave it out`,
  user_data_of_slice: 'is for slices only',
  /** A sentence follows, whose period the caller adds. */
  choice_unavailable: (name: string | null, reason: string) => `cannot be ${name}. ${reason.replace(/\.$/, '')}`,
  forward_needs_port: 'is needed for a forward',
  port_needs_forward: 'is for a forward only',
  /** Of the field `host`. Otherwise the first host that has the token becomes the node. */
  host_required:
    'is required: at this site a token enrolls only the host that an operator named, by serial number, system UUID or machine ID',
  network_not_first: 'must be the first address of its network',
} as const;

/** Why a caller lacks a permission, as audit rows state it. */
export const POLICIES = {
  no_role: (permission: string) => `no role of the caller holds ${permission}`,
  no_scope: (permission: string) => `the scopes of the credential do not include ${permission}`,
} as const;
