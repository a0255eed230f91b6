/**
 * The page's policy lets no text become markup. The one library that sets a style sheet's text that way may: text without the
 * sign that begins a tag is no markup, whatever becomes of it. Everything else is refused by the browser, ours included.
 */
type TrustedTypes = Readonly<{
  createPolicy(name: string, rules: Readonly<{ createHTML(text: string): string | null }>): unknown;
}>;

export const plainOnly = (text: string): string | null => (text.includes('<') ? null : text);

export const allowPlainText = (): void => {
  const { trustedTypes } = globalThis as { trustedTypes?: TrustedTypes };
  trustedTypes?.createPolicy('default', { createHTML: plainOnly });
};
