/** A rule the code itself relies on. Breaking it fails the request at hand, not the process. */
export class InvariantError extends Error {
  override name = 'InvariantError';
}

export function invariant(condition: unknown, sentence: string): asserts condition {
  if (!condition) throw new InvariantError(sentence);
}
