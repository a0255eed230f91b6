import { SIGN_UP_POLICIES, SIGN_UP_REQUEST_STATES, type SitePolicy } from '@gpuaas/sdk';
import { choice, command, type Group, integer, list, required, text, toggle } from '../command.ts';
import type { Cli } from '../context.ts';
import { UsageError } from '../exit.ts';
import { collect, ifMatchFlags, keyFlags, pageFlags } from '../flags.ts';
import { shortTime } from '../table.ts';

const show = (cli: Cli, policy: SitePolicy): void =>
  cli.out.item(policy, {
    'sign-up': policy.sign_up,
    'mail domains': policy.mail_domains.length === 0 ? 'any' : policy.mail_domains,
    'first GPU limit': policy.default_gpu_limit ?? 'none',
    contact: policy.contact,
    changed: shortTime(policy.updated_at),
  });

export const adminSitePolicy: Group = {
  name: 'site-policy',
  summary: 'Set who may sign up and the first GPU limit of organizations',
  commands: [
    command({
      name: 'get',
      summary: 'Show the policy',
      run: async (cli) => show(cli, await (await cli.client()).adminSitePolicyGet({}, { signal: cli.signal })),
    }),
    command({
      name: 'update',
      summary: 'Change the policy; existing users and organizations keep what they have',
      flags: {
        'sign-up': choice('Who may sign up', SIGN_UP_POLICIES),
        'mail-domain': list('With sign-up open: only verified addresses of this domain; repeatable', 'domain'),
        'any-mail-domain': toggle('With sign-up open: any address'),
        'default-gpus': integer('GPU limit with which an organization starts'),
        unlimited: toggle('Organizations start without a GPU limit'),
        contact: text('Contact shown to refused users: an address or a name', 'text'),
        ...ifMatchFlags,
      },
      examples: [
        'gpuaas admin site-policy update --sign-up open --mail-domain example.com --default-gpus 8',
        'gpuaas admin site-policy update --sign-up invited --contact gpu-team@example.com',
      ],
      run: async (cli, { flags }) => {
        if (flags.anyMailDomain && flags.mailDomain !== undefined)
          throw new UsageError('--mail-domain and --any-mail-domain cannot be combined.');
        if (flags.unlimited && flags.defaultGpus !== undefined)
          throw new UsageError('--default-gpus and --unlimited cannot be combined.');
        const body = {
          sign_up: flags.signUp,
          mail_domains: flags.anyMailDomain ? [] : flags.mailDomain?.map((domain) => domain.toLowerCase()),
          default_gpu_limit: flags.unlimited ? null : flags.defaultGpus,
          contact: flags.contact,
        };
        if (Object.values(body).every((value) => value === undefined))
          throw new UsageError('Nothing to change.', 'See gpuaas admin site-policy update --help.');
        const client = await cli.client();
        const ifMatch = flags.ifMatch ?? (await client.adminSitePolicyGet({}, { signal: cli.signal })).version;
        const response = await client.call('adminSitePolicyUpdate', { body }, { ifMatch, signal: cli.signal });
        const { sign_up, default_gpu_limit } = response.data;
        const limit = default_gpu_limit === null ? 'without a GPU limit' : `with a limit of ${default_gpu_limit} GPUs`;
        cli.out.done(`Sign-up is ${sign_up}; organizations start ${limit}.`, response);
      },
    }),
  ],
};

export const adminSignUpRequest: Group = {
  name: 'sign-up-request',
  summary: 'Decide on people who wait for approval',
  commands: [
    command({
      name: 'list',
      summary: 'List people who asked to sign up, newest first',
      flags: { state: choice('Only requests in this state', SIGN_UP_REQUEST_STATES), ...pageFlags },
      run: async (cli, { flags }) => {
        const client = await cli.client();
        const read = (page: { limit: number; cursor: string | undefined }) =>
          client.adminSignUpRequestList({ query: { ...page, state: flags.state } }, { signal: cli.signal });
        cli.out.list(await collect(flags, read), [
          { header: 'ID', value: ({ id }) => id },
          { header: 'NAME', value: ({ name }) => name, shrink: 'cut' },
          { header: 'EMAIL', value: ({ email }) => email, shrink: 'cut' },
          { header: 'VERIFIED', value: ({ email_verified }) => email_verified },
          { header: 'STATE', value: ({ state }) => state },
          { header: 'CREATED', value: ({ created_at }) => shortTime(created_at), optional: true },
        ]);
      },
    }),
    command({
      name: 'approve',
      summary: 'Approve a sign-up; the person gets a personal organization',
      args: { request: 'ID' },
      flags: { reason: text('Reason, recorded in the audit log'), ...keyFlags },
      run: async (cli, { args, flags }) => {
        const params = { sign_up_request_id: args.request };
        const options = { idempotencyKey: flags.idempotencyKey, signal: cli.signal };
        const client = await cli.client();
        const body = { reason: flags.reason };
        const response = await client.call('adminSignUpRequestApprove', { params, body }, options);
        cli.out.done(`Approved ${response.data.name} (${response.data.user_id}).`, response);
      },
    }),
    command({
      name: 'reject',
      summary: 'Reject a sign-up; the person sees the reason',
      args: { request: 'ID' },
      flags: { reason: required(text('Reason, shown to the person')), ...keyFlags },
      run: async (cli, { args, flags }) => {
        const params = { sign_up_request_id: args.request };
        const options = { idempotencyKey: flags.idempotencyKey, signal: cli.signal };
        const client = await cli.client();
        const body = { reason: flags.reason };
        const response = await client.call('adminSignUpRequestReject', { params, body }, options);
        cli.out.done(`Rejected ${response.data.name} (${response.data.user_id}).`, response);
      },
    }),
  ],
};
