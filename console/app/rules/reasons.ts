/** The reasons of a refusal, in lines for people. */
export type Reason = Readonly<{ code: string }> & Readonly<Record<string, unknown>>;

const factText = (value: unknown): string =>
  Array.isArray(value)
    ? value.map(String).join(', ')
    : typeof value === 'object'
      ? JSON.stringify(value)
      : String(value);

/** A reason as a sentence, or its facts. What the detail says already is not repeated. */
export const reasonLines = ({
  detail,
  reasons = [],
}: Readonly<{ detail: string; reasons?: readonly Reason[] }>): readonly string[] =>
  reasons.flatMap(({ code, detail: sentence, ...facts }) => {
    if (typeof sentence === 'string') return detail.includes(sentence) ? [] : [sentence];
    const values = Object.values(facts).flatMap((value) => (Array.isArray(value) ? value : [value]));
    if (values.length > 0 && values.every((value) => detail.includes(String(value)))) return [];
    const texts = Object.entries(facts).map(([name, value]) => `${name.replaceAll('_', ' ')} ${factText(value)}`);
    return [[code.replaceAll('_', ' '), texts.join(', ')].filter((part) => part !== '').join(': ')];
  });
