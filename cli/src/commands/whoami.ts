import { command } from '../command.ts';
import { shortTime } from '../table.ts';
import { pendingText } from './login.ts';

export const whoami = command({
  name: 'whoami',
  summary: 'Show your account, organizations and projects',
  run: async (cli) => {
    const me = await cli.me();
    if (cli.out.json) return cli.out.item(me);
    const { url, profile_name, credential, profile } = await cli.settings();
    cli.out.item(me, {
      name: me.name,
      email: me.email,
      id: me.id,
      ...(me.state === 'pending' ? { state: pendingText(me) } : {}),
      'platform role': me.platform_role,
      api: url,
      credential: `${me.credential.kind} from ${credential === 'environment' ? 'GPUAAS_TOKEN' : `profile ${profile_name}`}`,
      scopes: me.credential.scopes,
      'valid until': shortTime(me.credential.expires_at),
    });
    if (me.organizations.length > 0) {
      cli.out.print('');
      cli.out.table(me.organizations, [
        { header: 'ORGANIZATION', value: ({ id }) => id },
        { header: 'NAME', value: ({ name }) => name, shrink: 'cut' },
        { header: 'ROLE', value: ({ role }) => role },
        { header: 'DEFAULT', value: ({ id }) => id === profile.organization },
      ]);
    }
    if (me.projects.length === 0) return;
    cli.out.print('');
    cli.out.table(me.projects, [
      { header: 'PROJECT', value: ({ id }) => id },
      { header: 'NAME', value: ({ name }) => name, shrink: 'cut' },
      { header: 'ROLE', value: ({ role }) => role },
      { header: 'DEFAULT', value: ({ id }) => id === profile.project },
    ]);
  },
});
