import assert from 'node:assert/strict';
import { it } from 'node:test';
import { SEALED_TO } from './sealed.ts';

it('no two sealed columns have the same name, so no sealed value opens in another column', () => {
  const response = { tenant: 'a', principal_id: 'b', operation: 'c', key: 'd' };
  const places = [
    SEALED_TO.trust_key('x'),
    SEALED_TO.oidc_signing_key('x'),
    SEALED_TO.oidc_record('x', Buffer.from('00', 'hex')),
    SEALED_TO.id_token('x'),
    SEALED_TO.response(response),
    SEALED_TO.response({ ...response, operation: 'cd', key: '' }),
    SEALED_TO.pending_sign_in,
    SEALED_TO.user_data('x'),
    SEALED_TO.recording('x', 1),
    SEALED_TO.platform_secret('x'),
  ];
  assert.equal(new Set(places).size, places.length);
});
