/**
 * How one signature covers many tasks that are dispatched together. The texts of the tasks are the leaves of a hash
 * tree as in RFC 6962: a leaf is hashed after a byte 0x00 and a pair after 0x01, so that no text passes for an inner
 * node, and the last node of an odd row moves up unchanged. The root is signed with a prefix line that no other
 * signature uses. A task carries the sibling hashes of its path to the root. A changed text, or the path of another
 * task, gives another root. A single task is a tree of one leaf with an empty path.
 */
import { hash } from 'node:crypto';

/** Enough for 2^32 leaves, and a bound on the receiver's hashing. */
export const PROOF_STEPS_MAX = 32;

const SIGNED_AS = 'gpuaas task tree v1\n';
const STEP = /^(left|right):([A-Za-z0-9_-]{43})$/;
const HASH_BYTES = 32;

// Hashes are text throughout: a proof is text, and a text digest costs a third of one as bytes.
const hashLeaf = (text: string): string => hash('sha256', `\0${text}`, 'base64url');

const pair = Buffer.alloc(1 + 2 * HASH_BYTES, 1);
const hashPair = (left: string, right: string): string => {
  pair.write(left, 1, HASH_BYTES, 'base64url');
  pair.write(right, 1 + HASH_BYTES, HASH_BYTES, 'base64url');
  return hash('sha256', pair, 'base64url');
};

const signedBytes = (root: string): Buffer => Buffer.concat([Buffer.from(SIGNED_AS), Buffer.from(root, 'base64url')]);

export type TaskTree = Readonly<{
  /** What is signed once for all of them. */
  signed_bytes: Buffer;
  /** For each text, in their order: its neighbors from the leaf to the root. */
  proofs: readonly string[][];
}>;

/** Of at least one text. */
export const growTaskTree = (texts: readonly string[]): TaskTree => {
  /** Row by row from the leaves up, each node as the step of its neighbor's proof: created once, shared by many. */
  const steps: string[][] = [];
  let row = texts.map(hashLeaf);
  while (row.length > 1) {
    steps.push(row.map((digest, place) => (place % 2 === 0 ? `left:${digest}` : `right:${digest}`)));
    const above: string[] = [];
    for (let place = 0; place < row.length; place += 2) {
      const left = row[place] ?? '';
      const right = row[place + 1];
      above.push(right === undefined ? left : hashPair(left, right));
    }
    row = above;
  }
  const [root] = row;
  if (root === undefined) throw new RangeError('a tree has at least one leaf');
  const proofs = texts.map((_, leaf) => {
    const proof: string[] = [];
    for (let height = 0; height < steps.length; height++) {
      // The last of an odd row has no neighbor.
      const neighbour = steps[height]?.[(leaf >>> height) ^ 1];
      if (neighbour !== undefined) proof.push(neighbour);
    }
    return proof;
  });
  return { signed_bytes: signedBytes(root), proofs };
};

/** The text that must have been signed; null if the proof is malformed, or the text has no exact bytes. */
export const taskTreeBytes = (text: string, proof: readonly string[]): Buffer | null => {
  if (proof.length > PROOF_STEPS_MAX || !text.isWellFormed()) return null;
  let root = hashLeaf(text);
  for (const step of proof) {
    const [, side, digest] = STEP.exec(step) ?? [];
    if (digest === undefined) return null;
    root = side === 'left' ? hashPair(digest, root) : hashPair(root, digest);
  }
  return signedBytes(root);
};
