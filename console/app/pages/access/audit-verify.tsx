/**
 * Verifies the audit log: every chain is recomputed and compared with the signed heads stored outside of the database.
 */
import { Stack } from '@mantine/core';
import { useState } from 'react';
import { useMay } from '../../api/me.tsx';
import { useRead } from '../../api/read.ts';
import { command } from '../../format/shell.ts';
import { count } from '../../format/size.ts';
import { ActionButton } from '../../ui/action-button.tsx';
import { Async } from '../../ui/async.tsx';
import { CliCommand } from '../../ui/cli-command.tsx';
import { DataTable } from '../../ui/data-table.tsx';
import { Section } from '../../ui/page.tsx';
import { ToneBadge } from '../../ui/state-badge.tsx';
import { Ago } from '../../ui/time.tsx';

export const AuditVerify = () => {
  const [isAsked, setAsked] = useState(false);
  const verdict = useRead('adminAuditLogVerify', {}, { enabled: isAsked });
  return (
    <Section
      title="Verify audit log"
      actions={
        <ActionButton
          variant="default"
          loading={verdict.isFetching}
          disabledReason={useMay()('admin.audit.verify')}
          onClick={() => (isAsked ? void verdict.refetch() : setAsked(true))}
        >
          Verify
        </ActionButton>
      }
    >
      <Stack gap="sm">
        <p className="muted" style={{ margin: 0 }}>
          Each organization has one hash chain; the platform has its own. Verification finds edited, deleted, reordered
          and truncated entries.
        </p>
        {isAsked && (
          <Async of={verdict} label="Verifying all chains" rows={2}>
            {({ intact, checked_at, heads_file_lines, chains }) => {
              const findings = chains.flatMap(({ chain, findings: found }) =>
                found.map((finding) => ({ chain, ...finding })),
              );
              const sealed = chains.reduce((sum, { rows_sealed }) => sum + rows_sealed, 0);
              const unsealed = chains.reduce((sum, { rows_unsealed }) => sum + rows_unsealed, 0);
              return (
                <>
                  <div role="status">
                    <ToneBadge tone={intact ? 'good' : 'bad'}>{intact ? 'Intact' : 'Tampered'}</ToneBadge>{' '}
                    {count(sealed, 'row')} in {count(chains.length, 'chain')}, {unsealed} not sealed yet, against{' '}
                    {count(heads_file_lines, 'signed head')}, <Ago at={checked_at} />.
                  </div>
                  {findings.length > 0 && (
                    <DataTable
                      label="Findings"
                      rows={findings}
                      rowKey={({ chain, kind, sequence, audit_log_id }) =>
                        `${chain} ${kind} ${sequence} ${audit_log_id}`
                      }
                      columns={[
                        { header: 'Finding', cell: ({ kind }) => kind.replaceAll('_', ' ') },
                        { header: 'Chain', cell: ({ chain }) => chain },
                        { header: 'Row', cell: ({ audit_log_id, sequence }) => audit_log_id ?? `#${sequence ?? '–'}` },
                        { header: 'Detail', cell: ({ detail }) => detail },
                      ]}
                    />
                  )}
                </>
              );
            }}
          </Async>
        )}
        <CliCommand command={command(['admin', 'audit', 'verify'])} />
      </Stack>
    </Section>
  );
};
