/** The fragmentation message names the host to drain. The name becomes a link, so it is extracted from the message. */
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
