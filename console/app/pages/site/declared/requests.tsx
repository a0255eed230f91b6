/** Requests that wait for an operator: people who signed up, and tenants who need more GPUs. */
import type { QuotaRequest, SignUpRequest } from '@gpuaas/sdk';
import { Link } from '@tanstack/react-router';
import { count } from '../../../format/size.ts';
import { fieldsOf, sends } from '../../../resource/form.ts';
import {
  adminQuotaRequestApprove,
  adminQuotaRequestReject,
  adminSignUpRequestApprove,
  adminSignUpRequestReject,
} from '../../../resource/inputs.gen.ts';
import type { Resource } from '../../../resource/resource-section.tsx';
import { StateBadge } from '../../../ui/state-badge.tsx';
import { Ago } from '../../../ui/time.tsx';

/** A sign-up has no event. */
const SIGN_UPS_EVERY_MS = 10_000;

const TOLD = { label: 'Reason', description: 'Recorded in the audit log. The requester sees it.', isLong: true };
const OPTIONAL = { ...TOLD, description: 'Optional. Recorded in the audit log. The requester sees it.' };

const Decision = ({
  kind,
  state,
  reason,
  at,
  granted = null,
}: Readonly<{
  kind: 'sign_up' | 'quota_request';
  state: string;
  reason: string | null;
  at: string | null;
  granted?: number | null;
}>) => (
  <>
    <StateBadge kind={kind} state={state} />
    {granted !== null && <div>limit {count(granted, 'GPU')}</div>}
    {reason !== null && <div className="muted site-reason">{reason}</div>}
    {at !== null && (
      <div className="muted">
        <Ago at={at} />
      </div>
    )}
  </>
);

const whoOf = ({ name, email }: SignUpRequest): string => email ?? name;

export const signUpRequests = (state: SignUpRequest['state'] | undefined): Resource<SignUpRequest> => ({
  title: 'Sign-up requests',
  empty: {
    title: state === 'pending' ? 'No open sign-up requests' : 'No sign-up requests',
    text: 'Under the sign-up policy approved, people who sign in for the first time wait here.',
  },
  list: { operation: 'adminSignUpRequestList', query: { state }, everyMs: SIGN_UPS_EVERY_MS },
  keyOf: ({ id }) => id,
  nameOf: whoOf,
  columns: [
    {
      header: 'Person',
      cell: ({ name, email, email_verified }) => (
        <>
          {name}
          <div className="muted site-digest">
            {email ?? 'no email address'}
            {email !== null && !email_verified && ' (not verified)'}
          </div>
        </>
      ),
    },
    {
      header: 'State',
      cell: (row) => <Decision kind="sign_up" state={row.state} reason={row.reason} at={row.decided_at} />,
    },
    { header: 'First sign-in', cell: ({ created_at }) => <Ago at={created_at} />, isSecondary: true },
  ],
  changes: [
    {
      label: 'Approve',
      title: (row) => `Approve ${whoOf(row)}`,
      permission: 'admin.sign_up_request.update',
      refusal: (row) => (row.state === 'approved' ? 'It is approved already.' : null),
      note: () => 'The person gets a personal organization with the first GPU limit of the sign-up policy.',
      fields: fieldsOf(adminSignUpRequestApprove, { reason: OPTIONAL }),
      send: sends('adminSignUpRequestApprove', (body, { id }: SignUpRequest) => ({
        params: { sign_up_request_id: id },
        body,
      })),
      words: ({ id }) => ['admin', 'sign-up-request', 'approve', id],
    },
    {
      label: 'Reject',
      title: (row) => `Reject ${whoOf(row)}`,
      permission: 'admin.sign_up_request.update',
      isDestructive: true,
      refusal: (row) => (row.state === 'pending' ? null : 'Only an open request can be rejected.'),
      note: () => 'The person cannot use the site. A rejected request can be approved later.',
      fields: fieldsOf(adminSignUpRequestReject, { reason: TOLD }),
      send: sends('adminSignUpRequestReject', (body, { id }: SignUpRequest) => ({
        params: { sign_up_request_id: id },
        body,
      })),
      words: ({ id }) => ['admin', 'sign-up-request', 'reject', id],
    },
  ],
});

type Names = ReadonlyMap<string, string>;

export const quotaRequests = (
  state: QuotaRequest['state'] | undefined,
  organizations: Names,
): Resource<QuotaRequest> => {
  const nameOf = ({ organization_id }: QuotaRequest): string => organizations.get(organization_id) ?? organization_id;
  const refusal = (row: QuotaRequest) => (row.state === 'open' ? null : 'Only an open request can be decided.');
  return {
    title: 'Quota requests',
    empty: {
      title: state === 'open' ? 'No open quota requests' : 'No quota requests',
      text: 'Tenants request a larger GPU limit on their Limits page.',
    },
    list: { operation: 'adminQuotaRequestList', query: { state } },
    keyOf: ({ id }) => id,
    nameOf: (row) => `${count(row.gpu_limit, 'GPU')} for ${nameOf(row)}`,
    columns: [
      {
        header: 'Limit of',
        cell: (row) => (
          <>
            <Link className="link" to="/site/organizations" search={{ organization: row.organization_id }}>
              {nameOf(row)}
            </Link>
            <div className="muted">
              {row.project_id === null ? 'the whole organization' : `project …${row.project_id.slice(-6)}`}
            </div>
          </>
        ),
      },
      { header: 'Requested', align: 'right', cell: ({ gpu_limit }) => count(gpu_limit, 'GPU') },
      { header: 'For', cell: ({ reason }) => <div className="site-reason">{reason}</div>, isSecondary: true },
      {
        header: 'State',
        cell: ({ state: now, granted_gpu_limit, decision_reason, decided_at }) => (
          <Decision
            kind="quota_request"
            state={now}
            reason={decision_reason}
            at={decided_at}
            granted={granted_gpu_limit}
          />
        ),
      },
      { header: 'Created', cell: ({ created_at }) => <Ago at={created_at} />, isSecondary: true },
    ],
    changes: [
      {
        label: 'Approve',
        title: (row) => `Approve ${count(row.gpu_limit, 'GPU')} for ${nameOf(row)}`,
        permission: 'admin.quota_request.update',
        refusal,
        note: ({ reason }) => `For: ${reason}`,
        starts: ({ gpu_limit }) => ({ gpu_limit }),
        check: ({ gpu_limit, reason }, row) =>
          gpu_limit === row.gpu_limit || reason !== undefined
            ? null
            : 'Enter the reason for a limit other than the requested one.',
        fields: fieldsOf(adminQuotaRequestApprove, {
          gpu_limit: {
            label: 'Limit in GPUs',
            description: 'In total. A limit other than the requested one needs a reason.',
            isNeeded: true,
            flag: 'gpus',
          },
          reason: OPTIONAL,
        }),
        send: sends('adminQuotaRequestApprove', (body, { id }: QuotaRequest) => ({
          params: { quota_request_id: id },
          body,
        })),
        words: ({ id }) => ['admin', 'quota-request', 'approve', id],
      },
      {
        label: 'Reject',
        title: (row) => `Reject ${count(row.gpu_limit, 'GPU')} for ${nameOf(row)}`,
        permission: 'admin.quota_request.update',
        isDestructive: true,
        refusal,
        note: ({ reason }) => `For: ${reason} The limit stays as it is, and the tenant can request again.`,
        fields: fieldsOf(adminQuotaRequestReject, { reason: TOLD }),
        send: sends('adminQuotaRequestReject', (body, { id }: QuotaRequest) => ({
          params: { quota_request_id: id },
          body,
        })),
        words: ({ id }) => ['admin', 'quota-request', 'reject', id],
      },
    ],
  };
};
