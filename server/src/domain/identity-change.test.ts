import assert from 'node:assert/strict';
import { test } from 'node:test';
import { api } from '@gpuaas/contract';
import { type IdentityChange, isIdentityAction, lostIdentityChanges } from './identity-change.ts';

const change = (chain: string, sequence: number, at: string): IdentityChange => ({
  ...{ chain, sequence, at, action: 'organization.member.remove', target_kind: 'user', target_id: 'usr_1' },
  ...{ actor_id: 'usr_2', organization_id: chain },
});

test('changes of members, credentials, keys and certificates are changes of identities, and launches are not', () => {
  const audited = [
    ...new Set(Object.values(api).flatMap((operation: { audit: string | null }) => operation.audit ?? [])),
  ];
  const kept = audited.filter(isIdentityAction);
  for (const action of [
    'organization.member.remove',
    'project.member.update',
    'ssh_key.delete',
    'api_token.revoke',
    'service_account.secret.rotate',
    'allocation.access_grant.revoke',
    'node.agent.revoke',
    'trust_key.revoke',
    'user.update',
    'group_mapping.delete',
    'site_policy.update',
    'sign_up_request.approve',
    'quota.update',
    'quota_request.approve',
    'organization.create',
    'access_policy.update',
    'project.update',
  ])
    assert.ok(kept.includes(action), action);
  for (const action of kept) assert.doesNotMatch(action, /^(allocation\.(?!access_grant)|sku|node\.(slot|disk|drain))/);
  assert.ok(isIdentityAction('node.certificate.renew'));
  assert.ok(!isIdentityAction('user_data.read'));
});

/** Changes of operators that are not about who may do what: a restore lists only their number. */
const EXCUSED: Readonly<Record<string, readonly string[]>> = {
  'the hosts report after the restore what is on them': [
    ...['allocation.force_cleanup', 'allocation.force_release', 'claim.backfill', 'node.bundle_lease', 'node.vm'],
    ...['node.convert', 'node.discover', 'node.disk', 'node.hold', 'node.drain', 'node.image', 'node.slot'],
    ...['node.launch_failures', 'node.health', 'health.breaker'],
  ],
  'a host gets in by an enrollment and out by its retirement, which are listed': [
    ...['node.create', 'node.update', 'node.delete'],
  ],
  'the catalog decides what is offered and at which price, not to whom': [
    ...['image', 'pool', 'price', 'region', 'sku', 'vm_profile'],
  ],
  'the restore itself': ['restore', 'node.restore_release'],
  'it changes nothing that a person may do': ['backup.record', 'clock.confirm', 'workflow_run'],
};

test('every change that operators may make is listed after a restore, or is excused with a reason', () => {
  const excused = Object.values(EXCUSED).flat();
  const actions = Object.values(api).flatMap(({ access, audit }: { access: string; audit: string | null }) =>
    access === 'platform' && audit !== null ? [audit] : [],
  );
  const isExcused = (action: string) => excused.some((noun) => action === noun || action.startsWith(`${noun}.`));
  for (const action of new Set(actions))
    assert.notEqual(isIdentityAction(action), isExcused(action), `${action} is listed, or excused, and not both`);
  for (const noun of excused)
    assert.ok(
      actions.some((action) => action === noun || action.startsWith(`${noun}.`)),
      `${noun} excuses nothing`,
    );
});

test('only changes behind the end of the restored chain are lost, each once, in the order of time', () => {
  const written = [change('a', 4, '2026-01-02'), change('a', 3, '2026-01-01'), change('b', 1, '2026-01-01')];
  const lost = lostIdentityChanges([...written, change('a', 4, '2026-01-02')], new Map([['a', 3]]));
  assert.deepEqual(
    lost.map(({ chain, sequence }) => [chain, sequence]),
    [
      ['b', 1],
      ['a', 4],
    ],
  );
  const backwards = lostIdentityChanges(written, new Map());
  assert.deepEqual(
    backwards.map(({ at }) => at),
    ['2026-01-01', '2026-01-01', '2026-01-02'],
  );
  assert.equal(
    lostIdentityChanges(
      [written[1], written[0]].filter((one) => one !== undefined),
      new Map(),
    ).length,
    2,
  );
});
