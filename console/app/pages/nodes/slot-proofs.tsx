/** The wipe proofs of a slot, newest first, including failed ones. */
import type { Node, Slot, WipeProof } from '@gpuaas/sdk';
import { Title } from '@mantine/core';
import { usePages } from '../../api/read.ts';
import { type Column, DataTable } from '../../ui/data-table.tsx';
import { ErrorPanel } from '../../ui/error-panel.tsx';
import { ToneBadge } from '../../ui/state-badge.tsx';
import { Ago } from '../../ui/time.tsx';
import { valueText } from './diff.ts';
import { AllocationLink, TraceLink } from './links.tsx';

const EVIDENCE_MAX = 240;

/** The complete proof is shown on hover; that of a large disk has hundreds of samples. */
const Evidence = ({ evidence }: Readonly<{ evidence: WipeProof['evidence'] }>) => {
  const text = valueText(evidence);
  return (
    <span title={text} className="evidence">
      {text.length > EVIDENCE_MAX ? `${text.slice(0, EVIDENCE_MAX)}…` : text}
    </span>
  );
};

/** A disk that was wiped as part of its slot has no separate record; the proof of the slot names it. */
const serialOf = ({ ['serial']: serial }: WipeProof['evidence']): string | null =>
  typeof serial === 'string' ? serial : null;

const OUTCOMES = {
  verified: { tone: 'good', text: 'Verified' },
  overridden: { tone: 'warn', text: 'Overridden' },
  failed: { tone: 'bad', text: 'Not verified' },
} as const;

const columns: readonly Column<WipeProof>[] = [
  { header: 'Time', cell: ({ created_at }) => <Ago at={created_at} /> },
  {
    header: 'Proof',
    cell: ({ outcome }) => <ToneBadge tone={OUTCOMES[outcome].tone}>{OUTCOMES[outcome].text}</ToneBadge>,
  },
  { header: 'Method', cell: ({ method }) => method },
  {
    header: 'Disk',
    cell: ({ disk_serial, evidence }) => <span className="mono">{disk_serial ?? serialOf(evidence) ?? 'unknown'}</span>,
    isSecondary: true,
  },
  { header: 'Allocation', cell: ({ allocation_id }) => <AllocationLink id={allocation_id} /> },
  {
    header: 'Correlation',
    cell: ({ correlation_id }) => <TraceLink id={correlation_id} label="correlation ID" />,
    isSecondary: true,
  },
  { header: 'Evidence', cell: ({ evidence }) => <Evidence evidence={evidence} />, isSecondary: true },
];

export const SlotProofs = ({ node, slot }: Readonly<{ node: Node; slot: Slot }>) => {
  const proofs = usePages('adminNodeSlotProofList', {
    params: { node_id: node.id, slot_id: slot.id },
    query: { limit: 10 },
  });
  return (
    <div>
      <Title order={3} className="part-title">
        Wipe proofs
      </Title>
      {proofs.error !== null && <ErrorPanel error={proofs.error} onRetry={proofs.refetch} />}
      {proofs.items.length === 0 ? (
        <p className="muted" style={{ minHeight: 40 }}>
          {proofs.isLoading
            ? 'Loading wipe proofs.'
            : slot.wiped_at === null
              ? 'No wipe proofs since approval.'
              : 'No wipe proofs stored. The last wipe was verified at approval.'}
        </p>
      ) : (
        <DataTable
          label={`Wipe proofs of slot ${slot.slot_index}`}
          columns={columns}
          rows={proofs.items}
          rowKey={({ id }) => id}
          hasMore={proofs.hasMore}
          isLoadingMore={proofs.isLoadingMore}
          onMore={proofs.loadMore}
        />
      )}
    </div>
  );
};
