/** Requests of an organization for larger GPU limits, and the decisions of the operators. */
import type { QuotaRequest } from '@gpuaas/sdk';
import { useState } from 'react';
import { useChange } from '../../api/change.ts';
import { useMay, useMe } from '../../api/me.tsx';
import { usePages } from '../../api/read.ts';
import { command } from '../../format/shell.ts';
import { count } from '../../format/size.ts';
import { ActionButton } from '../../ui/action-button.tsx';
import { ConfirmDialog } from '../../ui/confirm-dialog.tsx';
import type { Column } from '../../ui/data-table.tsx';
import { FormDialog } from '../../ui/form-dialog.tsx';
import { EmptyState, Section } from '../../ui/page.tsx';
import { PagedTable } from '../../ui/paged-table.tsx';
import { StateBadge } from '../../ui/state-badge.tsx';
import { Ago } from '../../ui/time.tsx';
import { QuotaRequestForm } from './quota-request-form.tsx';
import { useOrganizationFlag } from './use-cli-scope.ts';

const decisionOf = ({ granted_gpu_limit, decision_reason }: QuotaRequest): string =>
  [granted_gpu_limit === null ? null : count(granted_gpu_limit, 'GPU'), decision_reason]
    .filter((part) => part !== null)
    .join(': ') || '–';

export const QuotaRequests = ({ organizationId }: Readonly<{ organizationId: string }>) => {
  const place = { organization: organizationId };
  const may = useMay();
  const me = useMe();
  const requests = usePages('quotaRequestList', { params: { organization_id: organizationId } });
  const withdraw = useChange('quotaRequestWithdraw');
  const org = useOrganizationFlag(organizationId);
  const [isAsking, setAsking] = useState(false);
  const [ending, setEnding] = useState<QuotaRequest | null>(null);
  const levelOf = ({ project_id }: QuotaRequest): string => {
    if (project_id === null) return 'Organization';
    return `Project ${me.projects.find(({ id }) => id === project_id)?.name ?? project_id}`;
  };
  const columns: readonly Column<QuotaRequest>[] = [
    { header: 'Limit of', cell: levelOf },
    { header: 'Requested', align: 'right', cell: ({ gpu_limit }) => count(gpu_limit, 'GPU') },
    { header: 'State', cell: ({ state }) => <StateBadge kind="quota_request" state={state} /> },
    { header: 'Decision', cell: (request) => <div style={{ minWidth: 110 }}>{decisionOf(request)}</div> },
    { header: 'Reason', cell: ({ reason }) => reason, isSecondary: true },
    { header: 'Created', cell: ({ created_at }) => <Ago at={created_at} />, isSecondary: true },
    {
      header: 'Actions',
      isHeaderHidden: true,
      align: 'right',
      cell: (request) => (
        <ActionButton
          size="xs"
          variant="default"
          aria-label={`Withdraw request for ${count(request.gpu_limit, 'GPU')}`}
          disabledReason={
            may('quota_request.withdraw', place) ??
            (request.state === 'open' ? null : 'Only an open request can be withdrawn.')
          }
          onClick={() => setEnding(request)}
        >
          Withdraw
        </ActionButton>
      ),
    },
  ];
  return (
    <Section
      title="Quota requests"
      flush
      actions={
        <ActionButton disabledReason={may('quota_request.create', place)} onClick={() => setAsking(true)}>
          Request more
        </ActionButton>
      }
    >
      <PagedTable
        pages={requests}
        label="Quota requests"
        columns={columns}
        empty={
          <EmptyState title="No requests">
            Request a larger GPU limit. Operators decide, and the decision is shown here.
          </EmptyState>
        }
      />
      <FormDialog title="Request a larger GPU limit" isOpen={isAsking} onClose={() => setAsking(false)}>
        <QuotaRequestForm organizationId={organizationId} onDone={() => setAsking(false)} />
      </FormDialog>
      <ConfirmDialog
        title="Withdraw request"
        isOpen={ending !== null}
        onClose={() => {
          setEnding(null);
          withdraw.reset();
        }}
        confirmLabel="Withdraw"
        isDestructive
        isRunning={withdraw.isRunning}
        error={withdraw.error}
        command={() => command(['quota', 'withdraw', ending?.id ?? ''], [org, ['yes', true]])}
        onConfirm={async () =>
          ending !== null &&
          (await withdraw.run({ params: { organization_id: organizationId, quota_request_id: ending.id } })) !== null
        }
      >
        Operators no longer see it. You can request a limit again.
      </ConfirmDialog>
    </Section>
  );
};
