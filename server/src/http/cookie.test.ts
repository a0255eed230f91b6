import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createCookies } from './cookie.ts';

const TOKEN = 'gpuaas_ws_abcdefghijklmnopqrstuvwxyz0123456789';
const STATE = 'state-0123456789abcdef';

describe('cookies of the console', () => {
  const plain = createCookies('http://localhost:8080');
  const secure = createCookies('https://gpu.example');

  it('belong to this host alone behind https, and show it in their names', () => {
    assert.equal(
      secure.setSession(TOKEN, 60),
      `__Host-gpuaas_session=${TOKEN}; Path=/; Max-Age=60; HttpOnly; SameSite=Lax; Secure`,
    );
    assert.equal(
      secure.setSignIn(STATE, 'x'),
      '__Host-gpuaas_sign_in_state-0123456789=x; Path=/; Max-Age=600; HttpOnly; SameSite=Lax; Secure',
    );
    assert.equal(plain.setSession(TOKEN, 60), `gpuaas_session=${TOKEN}; Path=/; Max-Age=60; HttpOnly; SameSite=Lax`);
    assert.match(secure.clearSession(), /^__Host-gpuaas_session=; Path=\/; Max-Age=0;.*Secure$/);
  });

  it('are found among others by their full name, and only where they can be ours', () => {
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

  it('exclude cookies of neighboring hosts with similar names', () => {
    const name = '__Host-gpuaas_sign_in_state-0123456789';
    assert.equal(secure.signIn({ cookie: `${name}=sealed` }, STATE), 'sealed');
    for (const lead of ['\u00a0', '\u000b', '\u000c', '\u00a0 ', '\u2000', '\ufeff', '__Secure-'])
      for (const cookie of [`${lead}${name}=planted`, `${lead}__Host-gpuaas_session=${TOKEN}`])
        assert.deepEqual(
          [secure.signIn({ cookie }, STATE), secure.session({ cookie })],
          [undefined, undefined],
          cookie,
        );
    for (const cookie of [`gpuaas_session=${TOKEN}`, `__Secure-gpuaas_session=${TOKEN}`])
      assert.equal(secure.session({ cookie }), undefined);
  });

  it('of abandoned sign-ins are cleared before there are too many', () => {
    const left = (count: number) => ({
      cookie: Array.from({ length: count }, (_, n) => `gpuaas_sign_in_${n}=x`).join('; '),
    });
    assert.deepEqual(plain.clearLeftSignIns(left(3)), []);
    assert.equal(plain.clearLeftSignIns(left(4)).length, 4);
    const long = `gpuaas_sign_in_a=${'x'.repeat(2000)}; gpuaas_sign_in_b=${'x'.repeat(2200)}`;
    assert.deepEqual(plain.clearLeftSignIns({ cookie: long }), [
      'gpuaas_sign_in_a=; Path=/; Max-Age=0; HttpOnly; SameSite=Lax',
      'gpuaas_sign_in_b=; Path=/; Max-Age=0; HttpOnly; SameSite=Lax',
    ]);
  });
});
