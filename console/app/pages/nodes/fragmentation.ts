/** The sentence about fragmentation names the host that would help. The name is a link, so it is taken out of the sentence. */
export type FragmentationLine = Readonly<{ before: string; name: string | null; after: string }>;

const DRAINING = /^(?<before>.*\bdraining )(?<name>[^\s;,]+)(?<after>.*)$/s;

export const readFragmentation = (sentence: string): FragmentationLine => {
  const groups = DRAINING.exec(sentence)?.groups;
  return {
    before: groups?.['before'] ?? sentence,
    name: groups?.['name'] ?? null,
    after: groups?.['after'] ?? '',
  };
};
