/**
 * The query of a page's URL, as plain text by name: URLs stay readable, and an unexpected value is only an unknown
 * word.
 */
export const textSearch =
  <const Name extends string>(...names: readonly Name[]) =>
  (raw: Readonly<Record<string, unknown>>): { [K in Name]?: string | undefined } =>
    Object.fromEntries(
      names.flatMap((name) => {
        const value = raw[name];
        return typeof value === 'string' && value !== '' ? [[name, value]] : [];
      }),
    ) as { [K in Name]?: string | undefined };

export const parseSearch = (text: string): Record<string, string> => Object.fromEntries(new URLSearchParams(text));

export const stringifySearch = (search: Readonly<Record<string, unknown>>): string => {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(search))
    if (value !== undefined && value !== '') query.set(name, String(value));
  const text = query.toString();
  return text === '' ? '' : `?${text}`;
};
