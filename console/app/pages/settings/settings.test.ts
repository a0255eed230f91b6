import assert from 'node:assert/strict';
import { test } from 'node:test';
import { browserName } from './browser.ts';
import { keyNameFrom, readPublicKey } from './public-key.ts';

const ED25519 = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAINdamAGCsQq31Uv+08lkBzoO4XLz2qYjJa8CGmj3B1Ea';

test('a public key is taken without its comment, which suggests a name', () => {
  assert.deepEqual(readPublicKey(`  ${ED25519}  ada@Laptop.local\n`), {
    key: ED25519,
    comment: 'ada@Laptop.local',
    refusal: null,
  });
  assert.equal(readPublicKey(`# mine\n${ED25519}\n`).refusal, null);
  assert.equal(keyNameFrom('ada@Laptop.local'), 'laptop');
  assert.equal(keyNameFrom('Work Key!'), 'work-key');
  assert.equal(keyNameFrom(''), '');
});

test('a private key is refused and never sent', () => {
  const read = readPublicKey('-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXk\n-----END OPENSSH PRIVATE KEY-----');
  assert.match(read.refusal ?? '', /private key/);
  assert.equal(read.key, '');
});

test('what is no single key is refused', () => {
  for (const text of ['', 'hello', 'ssh-dss AAAA', 'ssh-ed25519 short', `${ED25519}\n${ED25519}`])
    assert.notEqual(readPublicKey(text).refusal, null, text);
});

test('a browser is called by its usual name, or by what it says where that is unknown', () => {
  const chrome =
    'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36';
  assert.equal(browserName(chrome), 'Chrome 131 on Linux');
  assert.equal(browserName(`${chrome} Edg/131.0.0.0`), 'Edge 131 on Linux');
  assert.equal(
    browserName('Mozilla/5.0 (Macintosh; Intel Mac OS X 10.15; rv:133.0) Gecko/20100101 Firefox/133.0'),
    'Firefox 133 on macOS',
  );
  assert.equal(
    browserName(
      'Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.0 Mobile/15E148 Safari/604.1',
    ),
    'Safari 18 on iOS',
  );
  assert.equal(
    browserName(
      'Mozilla/5.0 (iPhone; CPU iPhone OS 19_0 like Mac OS X) AppleWebKit/605.1.15 Mobile/15E148 Safari/604.1',
    ),
    'Safari on iOS',
  );
  assert.equal(browserName('curl/8.5.0'), 'curl/8.5.0');
  assert.equal(browserName(null), 'Unknown browser');
});
