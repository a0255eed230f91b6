import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { assertReached } from '../../../tools/test/reached.ts';
import {
  type ChainedProof,
  chainGenesis,
  checkProofs,
  missingProof,
  netstring,
  PROOF_FINDINGS_MAX,
  proofHash,
} from './wipe-chain.ts';

const text = fc.string({ unit: 'grapheme', maxLength: 20 });
const content = fc.record({
  node_id: text,
  allocation_id: fc.option(text),
  task_id: text,
  method: text,
  is_verified: fc.constantFrom('true', 'false'),
  evidence_text: text,
  disk_serial: fc.option(text),
  correlation_id: text,
});
type Content = typeof content extends fc.Arbitrary<infer T> ? T : never;

const UNCUT = { cut_sequence: null, cut_hash: null, is_audit_archived: false } as const;

/** A chain as the database writes it. */
const chainOf = (target: string, contents: readonly Content[]): ChainedProof[] => {
  let previous = chainGenesis(target);
  return contents.map((one, index) => {
    const proof = {
      ...one,
      id: `wpf_${target}_${index}`,
      target_id: target,
      slot_id: target,
      sequence: index + 1,
      previous_hash: previous,
      created_at_us: `2026-01-01T00:00:00.${String(index).padStart(6, '0')}Z`,
    };
    previous = proofHash(proof);
    return { ...proof, proof_hash: previous, audited_hashes: [previous], ...UNCUT };
  });
};

const chain = fc.array(content, { minLength: 1, maxLength: 6 }).map((contents) => chainOf('slt_a', contents));
const verdictOf = (proofs: readonly ChainedProof[]) => {
  const check = checkProofs();
  check.take(proofs);
  return check.finish();
};
const kindsOf = (proofs: readonly ChainedProof[]) => verdictOf(proofs).findings.map(({ kind }) => kind);

test('unmodified chains have no findings, for any page size', () => {
  fc.assert(
    fc.property(chain, fc.array(content, { maxLength: 3 }), fc.nat(6), (first, others, cut) => {
      const all = [...first, ...chainOf('slt_b', others)];
      const check = checkProofs();
      check.take(all.slice(0, cut));
      check.take(all.slice(cut));
      const { proofs, chains, findings } = check.finish();
      assert.deepEqual([proofs, chains, findings], [all.length, others.length > 0 ? 2 : 1, []]);
    }),
  );
});

test('an edit of any column of a proof is found', () => {
  const columns = [
    'id',
    'node_id',
    'slot_id',
    'allocation_id',
    'task_id',
    'method',
    'is_verified',
    'evidence_text',
    'disk_serial',
    'correlation_id',
    'created_at_us',
    'previous_hash',
    'proof_hash',
  ] as const;
  fc.assert(
    fc.property(chain, fc.nat(), fc.constantFrom(...columns), (proofs, at, column) => {
      const index = at % proofs.length;
      const edited = proofs.map((proof, n) => (n === index ? { ...proof, [column]: `${proof[column]}x` } : proof));
      assert.equal(verdictOf(edited).findings[0]?.sequence, index + 1);
    }),
  );
});

test('a proof rewritten together with its hash breaks the next one, or contradicts the audit log', () => {
  fc.assert(
    fc.property(chain, fc.nat(), (proofs, at) => {
      const index = at % proofs.length;
      const forged = proofs.map((proof, n) => {
        if (n !== index) return proof;
        const changed = { ...proof, evidence_text: `${proof.evidence_text} ` };
        return { ...changed, proof_hash: proofHash(changed) };
      });
      const { findings } = verdictOf(forged);
      assert.deepEqual([findings[0]?.kind, findings[0]?.sequence], ['edited', index + 1]);
      assert.equal(findings.length, index + 1 < proofs.length ? 2 : 1);
    }),
  );
});

test('a proof missing from the middle or the beginning is found', () => {
  fc.assert(
    fc.property(fc.array(content, { minLength: 2, maxLength: 6 }), fc.nat(), (contents, at) => {
      const proofs = chainOf('slt_a', contents);
      const index = at % (proofs.length - 1);
      assert.deepEqual(kindsOf(proofs.filter((_, n) => n !== index)), ['deleted']);
    }),
  );
  const long = chainOf('slt_a', fc.sample(content, 4));
  assert.match(verdictOf(long.slice(2)).findings[0]?.detail ?? '', /2 earlier proofs are missing/);
  assert.match(verdictOf(long.slice(1)).findings[0]?.detail ?? '', /One earlier proof is missing/);
});

test('swapped proofs are found, even when renumbered', () => {
  fc.assert(
    fc.property(fc.array(content, { minLength: 2, maxLength: 6 }), fc.nat(), (contents, at) => {
      const proofs = chainOf('slt_a', contents);
      const index = at % (proofs.length - 1);
      const swapped = [...proofs];
      const [a, b] = [proofs[index], proofs[index + 1]];
      assert.ok(a !== undefined && b !== undefined);
      swapped[index] = { ...b, sequence: a.sequence };
      swapped[index + 1] = { ...a, sequence: b.sequence };
      assert.ok(kindsOf(swapped).length >= 1);
    }),
  );
});

test('a proof that does not follow, or has no audit row, is found with that reason', () => {
  const [first, second] = chainOf('slt_a', fc.sample(content, 2));
  assert.ok(first !== undefined && second !== undefined);
  const again = (changed: Partial<ChainedProof>): ChainedProof => {
    const proof = { ...second, ...changed };
    const hash = proofHash(proof);
    return { ...proof, proof_hash: hash, audited_hashes: [hash] };
  };
  assert.deepEqual(kindsOf([first, again({ previous_hash: chainGenesis('slt_a') })]), ['reordered']);
  assert.deepEqual(kindsOf([first, { ...second, audited_hashes: [] }]), ['unaudited']);
  const disagreeing = { ...second, audited_hashes: [second.proof_hash, first.proof_hash] };
  assert.deepEqual(kindsOf([first, disagreeing]), ['edited'], 'one witness who says otherwise is enough');
  const told = { audit_log_id: 'aud_1', is_there: false };
  assert.equal(missingProof('wpf_1', told).kind, 'deleted');
  assert.equal(missingProof('wpf_1', { ...told, is_there: true }).kind, 'edited');
});

test('a chain that was cut verifies from its cut, with the old proofs that were kept, and any change of the rest is found', () => {
  const cut = fc.record({
    contents: fc.array(content, { minLength: 2, maxLength: 8 }),
    at: fc.nat(),
    kept: fc.array(fc.boolean(), { minLength: 8, maxLength: 8 }),
  });
  fc.assert(
    fc.property(cut, ({ contents, at, kept }) => {
      const all = chainOf('slt_a', contents);
      const last = all[at % (all.length - 1)];
      assert.ok(last !== undefined);
      const facts = { cut_sequence: last.sequence, cut_hash: last.proof_hash };
      const left = all
        .filter(({ sequence }, index) => sequence > last.sequence || (sequence < last.sequence && kept[index] === true))
        .map((proof) => ({ ...proof, ...facts }));
      assert.deepEqual(kindsOf(left), []);
      const rest = left.filter(({ sequence }) => sequence > last.sequence);
      assert.deepEqual(kindsOf(rest.map((proof) => ({ ...proof, cut_hash: chainGenesis('x') }))), ['reordered']);
      for (const [index, proof] of left.entries())
        assert.deepEqual(kindsOf(left.with(index, { ...proof, task_id: `${proof.task_id}x` })), ['edited']);
      if (rest.length > 1) assert.deepEqual(kindsOf(rest.slice(1)), ['deleted'], 'more is missing than was cut');
    }),
  );
});

test('a proof whose audit row may be in the archive needs none', () => {
  const proofs = chainOf('slt_a', fc.sample(content, 1)).map((proof) => ({ ...proof, audited_hashes: [] }));
  assert.deepEqual(kindsOf(proofs), ['unaudited']);
  assert.deepEqual(kindsOf(proofs.map((proof) => ({ ...proof, is_audit_archived: true }))), []);
});

test('findings are bounded', () => {
  const many = chainOf('slt_a', fc.sample(content, PROOF_FINDINGS_MAX + 5));
  const found = verdictOf(many.map((proof) => ({ ...proof, audited_hashes: [] })));
  assert.equal(found.findings.length, PROOF_FINDINGS_MAX);
});

test('two lists of values never have the same encoding', () => {
  const values = fc.array(fc.option(text), { maxLength: 5 });
  // Two lists that were generated apart are almost never equal.
  const pairs = fc.oneof(
    fc.tuple(values, values),
    values.map((list): [typeof list, typeof list] => [list, [...list]]),
  );
  const counts = { same: 0, different: 0 };
  fc.assert(
    fc.property(pairs, ([a, b]) => {
      const isSame = a.length === b.length && a.every((value, index) => value === b[index]);
      counts[isSame ? 'same' : 'different']++;
      assert.equal(a.map(netstring).join('') === b.map(netstring).join(''), isSame);
    }),
  );
  assertReached(counts);
});
