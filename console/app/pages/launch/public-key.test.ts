import assert from 'node:assert/strict';
import { test } from 'node:test';
import { keyNameIn, publicKeyIn } from './public-key.ts';
import { nameProblem } from './rules.ts';

test('a private key is recognised before it could be sent', () => {
  const found = publicKeyIn('-----BEGIN OPENSSH PRIVATE KEY-----\nb3Bl\n');
  assert.equal(found.key, null);
  assert.match(found.problem ?? '', /private key/);
});

test('the key is the first line that is one, without what surrounds it', () => {
  assert.equal(publicKeyIn('\n# mine\n  ssh-ed25519 AAAA ada@laptop \n').key, 'ssh-ed25519 AAAA ada@laptop');
  assert.equal(publicKeyIn('sk-ssh-ed25519@openssh.com AAAA').problem, null);
  for (const bad of ['', '\n', 'hello', 'ssh-ed25519']) assert.equal(publicKeyIn(bad).key, null, bad);
});

test('a name made of a comment is a name, or nothing', () => {
  assert.equal(keyNameIn('ssh-ed25519 AAAA Ada@Laptop.local'), 'ada-laptop-local');
  assert.equal(keyNameIn('ssh-ed25519 AAAA'), '');
  assert.equal(nameProblem(keyNameIn(`ssh-ed25519 AAAA ${'x.'.repeat(40)}`)), null);
});
