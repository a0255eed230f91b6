import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ALLOCATION_STATES } from '@gpuaas/contract';
import { REFUSALS } from './sentences.ts';

test('every refusal is a sentence that names its subject', () => {
  const texts = [
    ...Object.values(REFUSALS).filter((one) => typeof one === 'string'),
    ...ALLOCATION_STATES.map(REFUSALS.no_certificate),
    REFUSALS.changed(2),
    REFUSALS.too_few_free_nodes(1, 2),
    REFUSALS.no_candidate([0, 1]),
    REFUSALS.rotation_running(1),
    REFUSALS.no_newer_key('platform', 2),
    REFUSALS.key_not_everywhere(2, ['gpuaas-api']),
    ...[
      REFUSALS.organization_name_taken,
      REFUSALS.invitation_ended,
      REFUSALS.project_name_taken,
      REFUSALS.service_account_name_taken,
      REFUSALS.ssh_key_name_taken,
      REFUSALS.allocation_name_taken,
      REFUSALS.node_name_taken,
      REFUSALS.disk_not_revocable,
      REFUSALS.key_not_staged,
      REFUSALS.key_not_retirable,
      REFUSALS.key_not_revocable,
      REFUSALS.host_value_unusable,
      REFUSALS.sign_up_decided,
      REFUSALS.user_not_active,
      REFUSALS.quota_request_decided,
    ].map((of) => of('train')),
    REFUSALS.host_has_node('serial number S1', 'j22u15'),
    REFUSALS.sign_up_closed(null),
    ...[REFUSALS.sign_up_invited, REFUSALS.sign_up_domain].flatMap((of) => [of(null, 'x'), of('ada@example.com', 'x')]),
    REFUSALS.organization_by_operator('ops@example.com'),
    ...[null, 4].map(REFUSALS.quota_request_needless),
  ];
  for (const text of texts) assert.match(text, /^(?:[A-Z]|disabled_reason|\d).*\.$/);
});
