/** A rule the code itself relies on. Violating it fails the current request, not the process. */
export class InvariantError extends Error {
  override name = 'InvariantError';
}

export function invariant(condition: unknown, sentence: string): asserts condition {
  if (!condition) throw new InvariantError(sentence);
}
