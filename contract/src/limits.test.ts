import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { it } from 'node:test';
import { LIMIT_NAMES, LIMITS, limitRefusal } from './limits.ts';
import { api } from './public/index.ts';

const README = readFileSync(new URL('../../doc/api/README.md', import.meta.url), 'utf8');

it('the documentation lists every limit with its scope and default', () => {
  const listed = [...README.matchAll(/^\| `(\w+)` \| (organization|user) \| ([\d,]+) \|/gm)].map(
    ([, name, per, max]) => [name, per, max],
  );
  assert.deepEqual(
    listed,
    LIMIT_NAMES.map((name) => [name, LIMITS[name].per, LIMITS[name].default.toLocaleString('en')]),
  );
});

it('a refusal states the limit, how to get below it and its name', () => {
  assert.equal(
    limitRefusal('projects', 100),
    'The organization has reached its limit of 100 projects. Delete a project, or ask an operator to raise the limit projects.',
  );
  assert.match(limitRefusal('ssh_keys', 5), /^You have reached your limit of 5 SSH keys\. /);
});

it('every counted limit names the operations that add to it, and all exist', () => {
  for (const name of LIMIT_NAMES) {
    const { kind, added_by } = LIMITS[name];
    assert.equal(added_by.length > 0, kind === 'rows', name);
    for (const id of added_by) assert.ok(id in api, `${name}: ${id}`);
  }
});
