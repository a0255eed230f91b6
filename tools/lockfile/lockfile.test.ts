import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { withoutDigest } from '../check/lockfile.ts';
import { type LockedPackage, readLockfile } from './lockfile.ts';
import { sbomOf } from './sbom.ts';

const integrity = `sha512-${'A'.repeat(86)}==`;
const tool = { version: '1.0.0', dev: true, optional: true } as const;

describe('the digests of the lockfile', () => {
  it('exist for every package of every platform', async () => {
    assert.deepEqual(withoutDigest(await readLockfile()), []);
  });

  it('are missing where a package has none, a weaker one or a malformed one, on any platform', () => {
    const lacking = (one: LockedPackage) => withoutDigest({ 'node_modules/@a/b': one, server: { version: '1.0.0' } });
    assert.deepEqual(lacking({ ...tool, integrity }), []);
    assert.deepEqual(lacking({ link: true }), []);
    for (const one of [
      tool,
      { ...tool, os: ['darwin'] },
      { ...tool, libc: ['musl'] },
      { ...tool, integrity: 'sha1-AAAA' },
      { ...tool, integrity: 'sha512-short' },
    ])
      assert.deepEqual(lacking(one), ['@a/b@1.0.0 has no SHA-512 digest in package-lock.json'], JSON.stringify(one));
  });
});

describe('the bill of materials', () => {
  it('lists every package of the lockfile once, with its digest, and the same bytes each time', async () => {
    const packages = await readLockfile();
    const bom = sbomOf(packages);
    assert.equal(JSON.stringify(sbomOf(packages)), JSON.stringify(bom));
    assert.match(bom.serialNumber, /^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}$/);
    const refs = bom.components.map((one) => one['bom-ref']);
    assert.equal(new Set(refs).size, refs.length);
    const shipped = bom.components.filter(({ type, scope }) => type === 'library' && scope === 'required');
    assert.ok(shipped.length > 50, String(shipped.length));
    for (const { name, hashes } of shipped) assert.match(hashes?.[0]?.content ?? '', /^[0-9a-f]{128}$/, name);
    const known = new Set([...refs, bom.metadata.component['bom-ref']]);
    for (const { ref, dependsOn } of bom.dependencies)
      for (const one of [ref, ...dependsOn]) assert.ok(known.has(one), `${ref}: ${one}`);
    const server = bom.dependencies.find(({ ref }) => ref.startsWith('pkg:npm/%40gpuaas/server@'));
    assert.ok(server?.dependsOn.some((ref) => ref.startsWith('pkg:npm/fastify@')));
    assert.ok(
      server?.dependsOn.some((ref) => ref.startsWith('pkg:npm/%40gpuaas/contract@')),
      'also of workspaces',
    );
  });

  it('finds the nearest version, and includes a package that anything needs', () => {
    const bom = sbomOf({
      '': { name: 'root', version: '1.0.0', dependencies: { a: '1' } },
      'node_modules/a': { version: '1.0.0', license: '(MIT OR Apache-2.0)', dependencies: { b: '2' } },
      'node_modules/a/node_modules/b': { version: '2.0.0', license: 'SEE LICENSE IN x' },
      'node_modules/b': { version: '1.0.0', dev: true },
      'node_modules/c/node_modules/b': { version: '2.0.0', dev: true },
    });
    assert.deepEqual(
      bom.components.map(({ purl, scope, licenses }) => [purl, scope, licenses?.[0]]),
      [
        ['pkg:npm/a@1.0.0', 'required', { expression: 'MIT OR Apache-2.0' }],
        ['pkg:npm/b@1.0.0', 'excluded', undefined],
        ['pkg:npm/b@2.0.0', 'required', { license: { name: 'SEE LICENSE IN x' } }],
      ],
    );
    assert.deepEqual(bom.dependencies.find(({ ref }) => ref === 'pkg:npm/a@1.0.0')?.dependsOn, ['pkg:npm/b@2.0.0']);
  });
});
