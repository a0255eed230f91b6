/** Web sessions of a user. The cookie itself is never shown; sign-in and sign-out are pages, not operations. */
import Type from 'typebox';
import { Closed, Nullable, Page, PageQuery, Time } from '../common.ts';
import { define } from '../define.ts';
import { Id } from '../ids.ts';

export const WebSession = Closed({
  id: Id('web_session'),
  is_current: Type.Boolean({ description: 'Whether it is the session of this request.' }),
  user_agent: Nullable(Type.String({ description: 'User agent of the browser.' })),
  source_ip: Nullable(Type.String({ description: 'Source address of the sign-in.' })),
  created_at: Time('When the user signed in.'),
  last_seen_at: Time('Last use, to the minute.'),
  expires_at: Time('When it expires at the latest; earlier if it is not used.'),
});

const tag = 'Identity';

export const webSessionApi = define({
  webSessionList: {
    method: 'GET',
    path: '/api/v1/web-sessions',
    tag,
    summary: 'List web sessions of the caller, newest first',
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
    summary: 'End a web session of the caller',
    description: 'Takes effect within seconds; open streams and sessions of it end.',
    access: 'self',
    permission: 'self.web_session.revoke',
    audit: 'web_session.revoke',
    idempotency: 'none',
    params: Closed({ web_session_id: Id('web_session') }),
    status: 204,
    response: null,
  },
});
