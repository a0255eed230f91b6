/** The look of the sign-in pages, light and dark, without any outside resource. */
import { createHash } from 'node:crypto';

export const STYLE = `
:root{color-scheme:light dark;--bg:#f4f5f7;--card:#fff;--text:#16181d;--soft:#565d6b;--line:#cfd4dc;--edge:#7d8594;--field:#fff;
--accent:#2f5bd8;--accent-hover:#264bb5;--on-accent:#fff;--bad:#b3261e;--bad-bg:#fdeceb;--code:#eef1f6}
@media (prefers-color-scheme:dark){:root{--bg:#101218;--card:#191c24;--text:#e9ebf0;--soft:#a3abba;--line:#3a404d;--edge:#737c8e;
--field:#12141b;--accent:#86a6ff;--accent-hover:#a3bbff;--on-accent:#0d1330;--bad:#ff9d94;--bad-bg:#3a1c1b;--code:#232834}}
*{box-sizing:border-box}
body{margin:0;min-height:100vh;display:flex;align-items:center;justify-content:center;padding:24px 16px;background:var(--bg);
color:var(--text);font:16px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif}
main{width:100%;max-width:400px;background:var(--card);border:1px solid var(--line);border-radius:12px;padding:32px}
.brand{display:flex;align-items:center;gap:10px;margin:0 0 24px;font-weight:650;letter-spacing:-.01em}
.brand svg{width:26px;height:26px;color:var(--accent)}
h1{font-size:1.375rem;line-height:1.25;letter-spacing:-.015em;margin:0 0 8px}
p{margin:0 0 16px}
.soft{color:var(--soft);font-size:.9375rem}
form{margin:24px 0 0}
label{display:block;font-size:.9375rem;font-weight:550;margin:0 0 6px}
input[type=text],input[type=password]{width:100%;font:inherit;color:inherit;background:var(--field);border:1px solid var(--edge);
border-radius:8px;padding:10px 12px;margin:0 0 18px}
input.code{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;font-size:1.25rem;letter-spacing:.12em;
text-transform:uppercase;text-align:center}
button{width:100%;font:inherit;font-weight:600;border:1px solid transparent;border-radius:8px;padding:10px 16px;cursor:pointer;
background:var(--accent);color:var(--on-accent)}
button:hover{background:var(--accent-hover)}
button.quiet{margin-top:10px;background:transparent;color:var(--text);border-color:var(--edge)}
button.quiet:hover{background:var(--code)}
:focus-visible{outline:3px solid var(--accent);outline-offset:2px}
.error{background:var(--bad-bg);color:var(--bad);border-radius:8px;padding:10px 12px;margin:16px 0 0;font-size:.9375rem}
.hint{color:var(--soft);font-size:.875rem;border-top:1px solid var(--line);margin:24px 0 0;padding:16px 0 0}
.hint p{margin:0 0 6px}
.hint p:last-child{margin:0}
form>.soft{margin-bottom:0}
code{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;background:var(--code);border-radius:5px;padding:1px 6px}
.user-code{display:block;font-size:1.75rem;letter-spacing:.12em;text-align:center;padding:14px;border-radius:8px;margin:16px 0}
dl{display:grid;grid-template-columns:auto 1fr;gap:6px 16px;margin:0;font-size:.9375rem}
dt{color:var(--soft)}
dd{margin:0;overflow-wrap:anywhere}
ul{margin:6px 0 16px;padding-left:20px;font-size:.9375rem}
`;

/** The hash allows exactly this style sheet under a policy that forbids every other one. */
export const STYLE_SOURCE = `'sha256-${createHash('sha256').update(STYLE).digest('base64')}'`;
