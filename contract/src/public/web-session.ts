/** Where a person is signed in with a browser. The cookie itself is never shown; sign-in and sign-out are pages, not operations. */
import Type from 'typebox';
import { Closed, Nullable, Page, PageQuery, Time } from '../common.ts';
import { define } from '../define.ts';
import { Id } from '../ids.ts';

export const WebSession = Closed({
  id: Id('web_session'),
  is_current: Type.Boolean({ description: 'The one that asks.' }),
  user_agent: Nullable(Type.String({ description: 'The browser, as it calls itself.' })),
  source_ip: Nullable(Type.String({ description: 'Where it signed in from.' })),
  created_at: Time('When it was signed in.'),
  last_seen_at: Time('Last use, to the minute.'),
  expires_at: Time('When it ends at the latest; sooner where it is not used.'),
});

const tag = 'Identity';

export const webSessionApi = define({
  webSessionList: {
    method: 'GET',
    path: '/api/v1/web-sessions',
    tag,
    summary: 'Browsers that the caller is signed in with, newest first',
    access: 'self',
    permission: 'self.web_session.read',
    audit: null,
    idempotency: 'none',
    query: Closed({ ...PageQuery }),
    status: 200,
    response: Page(WebSession),
  },
  webSessionRevoke: {
    method: 'DELETE',
    path: '/api/v1/web-sessions/{web_session_id}',
    tag,
    summary: 'Sign a browser of the caller out',
    description: 'It is refused within seconds, and what it has open ends.',
    access: 'self',
    permission: 'self.web_session.revoke',
    audit: 'web_session.revoke',
    idempotency: 'none',
    params: Closed({ web_session_id: Id('web_session') }),
    status: 204,
    response: null,
  },
});
