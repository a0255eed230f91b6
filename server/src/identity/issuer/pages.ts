/**
 * The pages of the embedded issuer. Plain forms, no script at all, usable by keyboard and screen reader. Every value is
 * escaped by the `html` tag; only its own output passes through unescaped.
 */
import { DEV_ACCOUNTS } from './accounts.ts';
import { STYLE, STYLE_SOURCE } from './page-style.ts';

class Html {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};
const escapeHtml = (text: string): string => text.replace(/[&<>"']/g, (char) => ENTITIES[char] ?? char);

type Part = string | Html | readonly Html[];
const render = (part: Part): string => {
  if (typeof part === 'string') return escapeHtml(part);
  return part instanceof Html ? part.text : part.map((each) => each.text).join('');
};
const html = (strings: TemplateStringsArray, ...parts: readonly Part[]): Html =>
  new Html(strings.reduce((text, piece, i) => text + render(parts[i - 1] ?? '') + piece));

/**
 * Only our own style applies on these pages, and no site may frame them. Browsers apply form-action to the redirects
 * that follow a form too, so the return address of a sign-in is named.
 */
export const pagePolicy = (returnsTo?: string): string => {
  const target = returnsTo === undefined || !URL.canParse(returnsTo) ? '' : ` ${new URL(returnsTo).origin}`;
  return `default-src 'none'; style-src ${STYLE_SOURCE}; form-action 'self'${target}; frame-ancestors 'none'; base-uri 'none'`;
};

const MARK = html`<svg viewBox="0 0 24 24" fill="none" stroke="currentColor" stroke-width="1.8" aria-hidden="true"><rect x="5" y="5" width="14" height="14" rx="3"/><rect x="9.5" y="9.5" width="5" height="5" rx="1" fill="currentColor"/><path d="M9 5V2M15 5V2M9 22v-3M15 22v-3M5 9H2M5 15H2M22 9h-3M22 15h-3" stroke-linecap="round"/></svg>`;
const NOTHING = new Html('');

const page = (title: string, body: Html): string =>
  html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${title} – GPUaaS</title>
<style>${new Html(STYLE)}</style>
</head>
<body>
<main>
<div class="brand">${MARK}<span>GPUaaS</span></div>
${body}
</main>
</body>
</html>
`.text;

const errorLine = (message: string | null): Html =>
  message === null ? NOTHING : html`<p class="error" id="problem" role="alert">${message}</p>`;
const hidden = (fields: Readonly<Record<string, string>>): readonly Html[] =>
  Object.entries(fields).map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`);

/** After a refusal the user types the password again, so the field has the focus. */
export const signInPage = (
  view: Readonly<{ action: string; csrf: string; username: string; clientName: string; error: string | null }>,
): string => {
  const focusPassword = view.username !== '';
  const described = view.error === null ? NOTHING : html` aria-describedby="problem" aria-invalid="true"`;
  const focus = (here: boolean): Html => (here ? html` autofocus` : NOTHING);
  return page(
    'Sign in',
    html`<h1>Sign in</h1>
<p class="soft">to continue to ${view.clientName}</p>
${errorLine(view.error)}
<form method="post" action="${view.action}">
${hidden({ csrf: view.csrf })}
<label for="username">Username</label>
<input type="text" id="username" name="username" value="${view.username}" autocomplete="username" autocapitalize="none" spellcheck="false" maxlength="64" required${described}${focus(!focusPassword)}>
<label for="password">Password</label>
<input type="password" id="password" name="password" autocomplete="current-password" maxlength="200" required${described}${focus(focusPassword)}>
<button type="submit">Sign in</button>
<button class="quiet" type="submit" name="cancel" value="yes" formnovalidate>Cancel</button>
</form>
<div class="hint">
${DEV_ACCOUNTS.map((account) => html`<p><code>${account.username}</code> ${account.about}</p>`)}
<p>This is the development sign-in. The password was printed when the platform started.</p>
</div>`,
  );
};

export const deviceCodePage = (
  view: Readonly<{ action: string; xsrf: string; userCode: string; error: string | null }>,
): string =>
  page(
    'Connect a device',
    html`<h1>Connect a device</h1>
<p class="soft">Enter the code that your terminal shows.</p>
${errorLine(view.error)}
<form method="post" action="${view.action}">
${hidden({ xsrf: view.xsrf })}
<label for="user_code">Code</label>
<input class="code" type="text" id="user_code" name="user_code" value="${view.userCode}" autocomplete="off" autocapitalize="characters" spellcheck="false" maxlength="20" required autofocus${view.error === null ? NOTHING : html` aria-describedby="problem" aria-invalid="true"`}>
<button type="submit">Continue</button>
</form>`,
  );

export const deviceConfirmPage = (
  view: Readonly<{
    action: string;
    xsrf: string;
    userCode: string;
    clientName: string;
    device: Readonly<{ ip: string; ua: string }> | undefined;
  }>,
): string =>
  page(
    'Allow this device?',
    html`<h1>Allow this device?</h1>
<p class="soft">Your terminal must show the same code:</p>
<code class="user-code">${view.userCode}</code>
<dl>
<dt>Application</dt><dd>${view.clientName}</dd>
<dt>Asked from</dt><dd>${view.device?.ip ?? 'unknown'}</dd>
<dt>Program</dt><dd>${(view.device?.ua ?? '').slice(0, 120) || 'unknown'}</dd>
</dl>
<form method="post" action="${view.action}">
<p class="soft">It will be able to:</p>
<ul>
<li>do everything your account may do</li>
<li>stay signed in for up to 30 days, or until you sign it out</li>
</ul>
${hidden({ xsrf: view.xsrf, user_code: view.userCode, confirm: 'yes' })}
<button type="submit" autofocus>Allow</button>
<button class="quiet" type="submit" name="abort" value="yes">Deny</button>
<p class="hint">If you did not start this sign-in, choose Deny.</p>
</form>`,
  );

export const signOutPage = (view: Readonly<{ action: string; xsrf: string }>): string =>
  page(
    'Sign out?',
    html`<h1>Sign out?</h1>
<p class="soft">You will be signed out of the console in this browser.</p>
<form method="post" action="${view.action}">
${hidden({ xsrf: view.xsrf })}
<button type="submit" name="logout" value="yes" autofocus>Sign out</button>
<button class="quiet" type="submit">Stay signed in</button>
</form>`,
  );

/** Replaces pages that would submit themselves by script. `fields` arrive escaped. */
export const continuePage = (view: Readonly<{ action: string; fields: Readonly<Record<string, string>> }>): string =>
  page(
    'Continue',
    html`<h1>One more step</h1>
<p class="soft">Continue to finish.</p>
<form method="post" action="${view.action}">
${hidden(view.fields)}
<button type="submit" autofocus>Continue</button>
</form>`,
  );

export const messagePage = (title: string, sentence: string): string =>
  page(title, html`<h1>${title}</h1><p class="soft">${sentence}</p>`);

export const problemPage = (title: string, sentence: string, code: string): string =>
  page(
    title,
    html`<h1>${title}</h1>
${errorLine(sentence)}
<p class="hint">Error code: <code>${code}</code></p>`,
  );
