/** The query of a page's address, as plain text by name: addresses stay readable, and a strange value is just a strange word. */
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
