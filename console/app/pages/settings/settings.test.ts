import assert from 'node:assert/strict';
import { test } from 'node:test';
import { browserName } from './browser.ts';

test('a browser is shown by its common name, or by its user agent if unknown', () => {
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
