/**
 * The page's policy lets no text become markup. The one library that sets the text of a style sheet that way is
 * allowed: text without `<` cannot be markup. The browser refuses everything else, including our own code.
 */
type TrustedTypes = Readonly<{
  createPolicy(name: string, rules: Readonly<{ createHTML(text: string): string | null }>): unknown;
}>;

export const plainOnly = (text: string): string | null => (text.includes('<') ? null : text);

export const allowPlainText = (): void => {
  const { trustedTypes } = globalThis as { trustedTypes?: TrustedTypes };
  trustedTypes?.createPolicy('default', { createHTML: plainOnly });
};
