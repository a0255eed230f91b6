/** The shell of the pages that the API itself serves: readable in light and dark, no outside resource. */
const STYLE = `
:root{color-scheme:light dark;--bg:#fff;--text:#16181d;--soft:#565d6b;--line:#cfd4dc;--accent:#2f5bd8;--code:#eef1f6}
@media (prefers-color-scheme:dark){:root{--bg:#101218;--text:#e9ebf0;--soft:#a3abba;--line:#3a404d;--accent:#86a6ff;--code:#232834}}
*{box-sizing:border-box}
body{margin:0;background:var(--bg);color:var(--text);font:16px/1.6 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif}
main.text{max-width:44rem;margin:0 auto;padding:48px 20px}
main.text h1{font-size:1.75rem;line-height:1.25;letter-spacing:-.015em;margin:0 0 12px}
main.text h2{font-size:1.125rem;margin:32px 0 8px}
a{color:var(--accent)}
:focus-visible{outline:3px solid var(--accent);outline-offset:2px}
main.text :is(code,pre){font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;font-size:.9375em;background:var(--code);border-radius:5px}
main.text code{padding:1px 6px}main.text pre{padding:12px 16px;overflow-x:auto}
dl{display:grid;grid-template-columns:auto 1fr;gap:6px 20px}dt{color:var(--soft)}dd{margin:0}
ul{padding-left:20px}.soft{color:var(--soft)}
`;

/** For pages of text alone: no script, no outside resource, no form, no frame. */
export const PAGE_CSP =
  "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

export const escapeHtml = (text: string): string => text.replace(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`);

/** Text with `code` in backticks, as the contract writes its sentences. */
export const prose = (text: string): string => escapeHtml(text).replace(/`([^`]+)`/g, '<code>$1</code>');

/** `main` and `tail` are HTML already. */
export const htmlPage = (title: string, main: string, tail = ''): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)}</title>
<style>${STYLE}</style>
</head>
<body>
${main}
${tail}</body>
</html>
`;
