import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { assertReached } from '../../../tools/test/reached.ts';
import { growTaskTree, PROOF_STEPS_MAX, taskTreeBytes } from './task-tree.ts';

const sha256 = (...parts: readonly Buffer[]): Buffer => createHash('sha256').update(Buffer.concat(parts)).digest();

/** MTH of RFC 6962, section 2.1, word for word. */
const rootOf = (texts: readonly string[]): Buffer => {
  if (texts.length === 1) return sha256(Buffer.from([0]), Buffer.from(texts[0] ?? ''));
  let middle = 1;
  while (middle * 2 < texts.length) middle *= 2;
  return sha256(Buffer.from([1]), rootOf(texts.slice(0, middle)), rootOf(texts.slice(middle)));
};

/** Distinct texts, and one of them. */
const forest = fc
  .uniqueArray(fc.string({ unit: 'grapheme', maxLength: 40 }), { minLength: 1, maxLength: 70 })
  .chain((texts) => fc.record({ texts: fc.constant(texts), at: fc.nat(texts.length - 1) }));

const grow = ({ texts, at }: Readonly<{ texts: readonly string[]; at: number }>) => {
  const tree = growTaskTree(texts);
  return { signed: tree.signed_bytes, text: texts[at] ?? '', proof: tree.proofs[at] ?? [], tree };
};
const isRefused = (signed: Buffer, text: string, proof: readonly string[]): boolean =>
  taskTreeBytes(text, proof)?.equals(signed) !== true;

describe('one signature for many tasks', () => {
  it('every leaf of a tree verifies against the signed root: RFC 6962 with a prefix line', () => {
    fc.assert(
      fc.property(fc.uniqueArray(fc.string(), { minLength: 1, maxLength: 70 }), (texts) => {
        const { signed_bytes, proofs } = growTaskTree(texts);
        assert.deepEqual(signed_bytes, Buffer.concat([Buffer.from('gpuaas task tree v1\n'), rootOf(texts)]));
        assert.equal(proofs.length, texts.length);
        for (const [index, text] of texts.entries())
          assert.deepEqual(taskTreeBytes(text, proofs[index] ?? []), signed_bytes);
      }),
    );
  });

  it('a single task is a tree of one leaf with an empty proof; an empty list has no tree', () => {
    assert.deepEqual(growTaskTree(['x']).proofs, [[]]);
    assert.throws(() => growTaskTree([]), RangeError);
  });

  it('the proof length equals the tree height, for any number of tasks', () => {
    const { proofs } = growTaskTree(Array.from({ length: 6_100 }, (_, n) => String(n)));
    assert.equal(Math.max(...proofs.map((proof) => proof.length)), 13);
  });

  it('a changed text is refused', () => {
    fc.assert(
      fc.property(forest, fc.string({ unit: 'grapheme', minLength: 1, maxLength: 40 }), (given, other) => {
        const { signed, text, proof } = grow(given);
        fc.pre(other !== text);
        assert.ok(isRefused(signed, other, proof));
        assert.ok(isRefused(signed, text + other, proof));
      }),
    );
  });

  it('the proof of another leaf is refused', () => {
    fc.assert(
      fc.property(forest, fc.nat(), (given, which) => {
        const { signed, text, tree } = grow(given);
        const other = which % given.texts.length;
        fc.pre(other !== given.at);
        assert.ok(isRefused(signed, text, tree.proofs[other] ?? []));
      }),
    );
  });

  it('a sibling on the other side, or with another hash, is refused', () => {
    fc.assert(
      fc.property(forest, fc.nat(), (given, which) => {
        const { signed, text, proof } = grow(given);
        fc.pre(proof.length > 0);
        const place = which % proof.length;
        const step = proof[place] ?? '';
        const [side, digest = ''] = step.split(':');
        const swapped = `${side === 'left' ? 'right' : 'left'}:${digest}`;
        const altered = `${side}:${digest.startsWith('A') ? 'B' : 'A'}${digest.slice(1)}`;
        assert.ok(isRefused(signed, text, proof.with(place, swapped)));
        assert.ok(isRefused(signed, text, proof.with(place, altered)));
      }),
    );
  });

  it('a proof with one step too few or too many is refused', () => {
    const counts = { too_few: 0 };
    fc.assert(
      fc.property(forest, fc.nat(), (given, which) => {
        const { signed, text, proof } = grow(given);
        const place = which % (proof.length + 1);
        const extra = `left:${Buffer.alloc(32, which).toString('base64url')}`;
        assert.ok(isRefused(signed, text, proof.toSpliced(place, 0, extra)));
        if (place === proof.length) return;
        counts.too_few++;
        assert.ok(isRefused(signed, text, proof.toSpliced(place, 1)));
      }),
    );
    assertReached(counts);
  });

  it('an inner node does not verify as a leaf, with any prefix byte', () => {
    // Latin-1 would keep the bytes, so this searches a text whose UTF-8 is the pair itself.
    const texts = Array.from({ length: 4 }, (_, n) => `text ${n}`);
    const { signed_bytes, proofs } = growTaskTree(texts);
    const pair = ['\0', '\x01', ''].map((byte) =>
      Buffer.concat([Buffer.from(byte), ...texts.slice(0, 2).map((text) => rootOf([text]))]),
    );
    const above = proofs[0]?.slice(1) ?? [];
    for (const bytes of pair) {
      assert.ok(isRefused(signed_bytes, bytes.toString('latin1'), above));
      assert.ok(isRefused(signed_bytes, bytes.toString('utf8'), above));
      // Computed manually, for bytes that no text encodes to.
      const leaf = sha256(Buffer.from([0]), bytes);
      const root = sha256(Buffer.from([1]), leaf, rootOf(texts.slice(2)));
      assert.notDeepEqual(root, rootOf(texts));
    }
  });

  it('a malformed proof is refused before anything is hashed', () => {
    const step = `left:${Buffer.alloc(32).toString('base64url')}`;
    assert.notEqual(taskTreeBytes('x', Array(PROOF_STEPS_MAX).fill(step)), null);
    assert.equal(taskTreeBytes('x', Array(PROOF_STEPS_MAX + 1).fill(step)), null);
    for (const odd of ['', 'left:', step.slice(0, -1), `${step}A`, `up${step.slice(4)}`, `${step}\n`, ` ${step}`])
      assert.equal(taskTreeBytes('x', [odd]), null);
  });

  it('a text with an unpaired surrogate has no UTF-8 encoding and is refused', () => {
    const { signed_bytes, proofs } = growTaskTree(['\ufffd']);
    assert.ok(!isRefused(signed_bytes, '\ufffd', proofs[0] ?? []));
    assert.equal(taskTreeBytes('\ud800', proofs[0] ?? []), null);
  });
});
