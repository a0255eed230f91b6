import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConfigError, ConfigReader } from './config.ts';

test('every mistake is reported at once, by variable name', () => {
  const read = new ConfigReader({ PORT: 'x', FLAG: 'perhaps', MODE: 'fast', URL: 'no url' });
  read.integer('PORT', 1, { min: 0, max: 10 });
  read.flag('FLAG', false);
  read.oneOf('MODE', ['a', 'b'] as const, 'a');
  read.url('URL');
  assert.throws(
    () => read.finish(),
    (err: unknown) =>
      err instanceof ConfigError && ['PORT', 'FLAG', 'MODE', 'URL'].every((name) => err.message.includes(name)),
  );
});

test('an empty value means the default', () => {
  const read = new ConfigReader({ PORT: '', NAME: '  ' });
  assert.equal(read.integer('PORT', 7, { min: 0, max: 10 }), 7);
  assert.equal(read.optional('NAME'), undefined);
  read.finish();
});
