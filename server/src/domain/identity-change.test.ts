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
  ])
    assert.ok(kept.includes(action), action);
  for (const action of kept)
    assert.doesNotMatch(action, /^(allocation\.(?!access_grant)|sku|quota|node\.(slot|disk|drain))/);
  assert.ok(isIdentityAction('node.certificate.renew'));
  assert.ok(!isIdentityAction('user_data.read'));
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
