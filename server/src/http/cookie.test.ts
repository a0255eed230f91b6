import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createCookies } from './cookie.ts';

const TOKEN = 'gpuaas_ws_abcdefghijklmnopqrstuvwxyz0123456789';
const STATE = 'state-0123456789abcdef';

describe('cookies of the console', () => {
  const plain = createCookies('http://localhost:8080');
  const secure = createCookies('https://gpu.example');

  it('belong to this host alone behind https, and say so in their names', () => {
    assert.equal(
      secure.setSession(TOKEN, 60),
      `__Host-gpuaas_session=${TOKEN}; Path=/; Max-Age=60; HttpOnly; SameSite=Lax; Secure`,
    );
    assert.equal(
      secure.setSignIn(STATE, 'x'),
      '__Secure-gpuaas_sign_in_state-0123456789=x; Path=/auth; Max-Age=600; HttpOnly; SameSite=Lax; Secure',
    );
    assert.equal(plain.setSession(TOKEN, 60), `gpuaas_session=${TOKEN}; Path=/; Max-Age=60; HttpOnly; SameSite=Lax`);
    assert.match(secure.clearSession(), /^__Host-gpuaas_session=; Path=\/; Max-Age=0;.*Secure$/);
  });

  it('are found among others, by their whole name, and only where they could be ours', () => {
    const among = (value: string) => ({ cookie: `a=1; xgpuaas_session=no; gpuaas_session=${value}; b` });
    assert.equal(plain.session(among(TOKEN)), TOKEN);
    assert.equal(plain.session({}), undefined);
    assert.equal(secure.session(among(TOKEN)), undefined);
    for (const strange of ['', 'short', `${TOKEN}"`, `${TOKEN} x`, 'a'.repeat(300), '<script>'])
      assert.equal(plain.session(among(strange)), undefined, strange);
    assert.equal(plain.signIn({ cookie: 'gpuaas_sign_in_state-0123456789=sealed' }, STATE), 'sealed');
    for (const strange of ['', 'x', '=; gpuaas_session', `${STATE} `])
      assert.equal(plain.signIn({ cookie: 'gpuaas_sign_in_=sealed' }, strange), undefined);
  });

  it('of sign-ins that were left are cleared before they are too many', () => {
    const left = (count: number) => ({
      cookie: Array.from({ length: count }, (_, n) => `gpuaas_sign_in_${n}=x`).join('; '),
    });
    assert.deepEqual(plain.clearLeftSignIns(left(3)), []);
    assert.equal(plain.clearLeftSignIns(left(4)).length, 4);
  });
});
