import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startTestApp } from '../../test/app.ts';
import { AUDIENCE, startTestIssuer } from '../../test/issuer.ts';
import { must } from '../../test/tenants.ts';

test('a token of the issuer reaches what its scopes allow, and only from accepted clients', async (t) => {
  const issuer = await startTestIssuer(t);
  const app = await startTestApp(t, {
    roles: ['gpuaas-api'],
    oidc: {
      issuer: issuer.url,
      audience: AUDIENCE,
      console_client_id: 'gpuaas-console',
      console_client_secret: null,
      cli_client_id: 'gpuaas-cli',
      groups_claim: 'groups',
      groups_max_age_days: 30,
      other_client_ids: ['partner'],
    },
  });
  const holder = async (claims: Parameters<typeof issuer.sign>[0]) => app.bearer(await issuer.sign(claims));

  const person = await holder({ azp: 'gpuaas-cli' });
  const me = must(await person.get('/api/v1/me'), 200).body;
  assert.deepEqual(me.credential.scopes, ['all'], 'words of identity restrict nothing');
  const projects = `/api/v1/organizations/${me.organizations[0].id}/projects`;
  must(await person.post(projects, { name: 'by-a-person' }), 201);

  const reader = await holder({ azp: 'partner', scope: 'openid email read' });
  assert.deepEqual(must(await reader.get('/api/v1/me'), 200).body.credential.scopes, ['read']);
  must(await reader.get(projects), 200);
  must(await reader.post(projects, { name: 'by-a-reader' }), 403);
  const tokens = { name: 'wider', scopes: ['all'], expires_in_s: 3_600 };
  must(await reader.post('/api/v1/tokens', tokens), 403);

  const maker = await holder({
    client_id: 'partner',
    scp: ['project.*', 'self.read', 'of.another.api'],
    scope: undefined,
  });
  assert.deepEqual(must(await maker.get('/api/v1/me'), 200).body.credential.scopes, ['project.*', 'self.read']);
  must(await maker.post(projects, { name: 'by-a-maker' }), 201);
  must(await maker.get('/api/v1/ssh-keys'), 403);

  for (const words of [{ scope: 'openid of.another.api' }, { scp: 'access_as_user' }, { scope: 'lösen' }]) {
    const other = await holder({ azp: 'partner', ...words });
    must(await other.get('/api/v1/me'), 403);
    must(await other.post(projects, { name: 'by-another' }), 403);
  }

  const stranger = await holder({ azp: 'another-app' });
  const refused = must(await stranger.get('/api/v1/me'), 401).body;
  assert.equal(refused.detail, 'The token was issued to another client.');
});
