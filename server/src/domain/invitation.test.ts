import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Acceptance, acceptRefusal } from './invitation.ts';
import { REFUSALS } from './sentences.ts';

const asked = (facts: Partial<Acceptance>): string | null =>
  acceptRefusal({
    ...{ user_id: 'usr_1', invited_by: 'usr_2', role: 'admin', inviter_role: 'admin', inviter_is_operator: false },
    source: null,
    ...facts,
  });

test('an invitation ends where who made it may no longer make it', () => {
  assert.equal(asked({ inviter_role: 'owner' }), null);
  for (const inviter_role of ['member', 'viewer'] as const)
    assert.equal(asked({ inviter_role, role: 'viewer' }), REFUSALS.inviter_demoted, inviter_role);
  assert.equal(
    asked({ inviter_role: 'admin', role: 'owner' }),
    REFUSALS.inviter_demoted,
    'an owner who was made an admin',
  );
});

test('no one accepts their own invitation, and only an owner makes a membership by a group permanent', () => {
  assert.equal(asked({}), null);
  assert.equal(asked({ inviter_role: null, inviter_is_operator: true }), null, 'an operator invites the first owner');
  assert.equal(asked({ inviter_role: null }), REFUSALS.inviter_demoted, 'an author who is no member any more');
  assert.equal(asked({ source: 'manual' }), REFUSALS.already_member);
  assert.equal(asked({ invited_by: 'usr_1', inviter_role: 'owner' }), REFUSALS.invited_by_self);
  assert.equal(asked({ source: 'group' }), REFUSALS.kept_by_owner);
  assert.equal(asked({ source: 'group', inviter_role: null, inviter_is_operator: true }), REFUSALS.kept_by_owner);
  assert.equal(asked({ source: 'group', inviter_role: 'owner' }), null);
  assert.equal(asked({ source: 'group', inviter_role: null, inviter_is_operator: true, role: 'owner' }), null);
});
