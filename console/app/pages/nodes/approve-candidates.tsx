/**
 * Candidates beside the approved slots. Approval names the shown discovery by its hash, so that only what was reviewed
 * is approved.
 */
import type { Node } from '@gpuaas/sdk';
import { Button, Checkbox, Group, List, NativeSelect, Stack } from '@mantine/core';
import { useState } from 'react';
import { useChange } from '../../api/change.ts';
import { command } from '../../format/shell.ts';
import { count } from '../../format/size.ts';
import type { Tone } from '../../format/state.ts';
import { ActionButton, whyNot } from '../../ui/action-button.tsx';
import { CliCommand } from '../../ui/cli-command.tsx';
import { ErrorPanel } from '../../ui/error-panel.tsx';
import { EmptyState, Section } from '../../ui/page.tsx';
import { ToneBadge } from '../../ui/state-badge.tsx';
import {
  approvalReasons,
  blockersOf,
  type Candidate,
  differences,
  proposedChoice,
  type TopologyMap,
} from './approve.ts';
import { DiffTable } from './diff-table.tsx';

const STANDINGS: Readonly<Record<Candidate['approval_status'], readonly [word: string, tone: Tone]>> = {
  new: ['New', 'busy'],
  approved: ['As approved', 'good'],
  changed: ['Changed', 'warn'],
};

const WIPE_CHOICES = [
  ['', 'Agent default', 'Uses the strongest method that each disk supports.'],
  ['nvme_sanitize', 'Sanitize', 'The disk wipes all media, including spare areas. Takes seconds to hours.'],
  ['nvme_format', 'Format', 'The disk wipes its namespace with its format command.'],
  ['blkdiscard', 'Discard', 'Blocks are discarded and verified as empty. Weaker: spare areas are not wiped.'],
] as const;
type WipeChoice = (typeof WIPE_CHOICES)[number][0];

const OneCandidate = ({
  candidate,
  isChosen,
  onChoose,
}: Readonly<{ candidate: Candidate; isChosen: boolean; onChoose: (isChosen: boolean) => void }>) => {
  const [isOpen, setOpen] = useState(candidate.approval_status === 'changed');
  const [word, tone] = STANDINGS[candidate.approval_status];
  const blockers = blockersOf(candidate);
  const { gpu_model, gpu_pci_address, nvme_serial } = candidate.content;
  return (
    <div className="candidate">
      <Group gap="sm">
        <Checkbox
          checked={isChosen}
          aria-label={`Select slot ${candidate.slot_index}`}
          onChange={(event) => onChoose(event.currentTarget.checked)}
        />
        <strong>Slot {candidate.slot_index}</strong>
        <ToneBadge tone={tone}>{word}</ToneBadge>
        {blockers.length > 0 && <ToneBadge tone="bad">{count(blockers.length, 'blocker')}</ToneBadge>}
        <span className="muted mono">
          {gpu_model ?? 'GPU'} {gpu_pci_address ?? 'missing'}, NVMe {nvme_serial ?? 'missing'}
        </span>
        {candidate.approval_status !== 'approved' && (
          <Button size="xs" variant="subtle" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
            {isOpen ? 'Hide fields' : 'Show fields'}
          </Button>
        )}
      </Group>
      {blockers.length > 0 && (
        <List size="sm" mt={6}>
          {blockers.map(({ code, message }) => (
            <List.Item key={`${code} ${message}`}>{message}</List.Item>
          ))}
        </List>
      )}
      {isOpen && candidate.approval_status !== 'approved' && (
        <DiffTable diff={differences(candidate)} label={`Slot ${candidate.slot_index}, differences`} />
      )}
    </div>
  );
};

export const ApproveCandidates = ({ node, map }: Readonly<{ node: Node; map: TopologyMap }>) => {
  const approve = useChange('adminNodeSlotApprove');
  const [chosen, setChosen] = useState<readonly number[]>(() => proposedChoice(map));
  const [policy, setWipeChoice] = useState<WipeChoice>('');
  const indexes = map.candidates.map(({ slot_index }) => slot_index);
  const isAll = indexes.length === chosen.length;
  const reasons = approvalReasons(map, chosen, whyNot(node.actions, 'approve'));
  const [said, setSaid] = useState<string | null>(null);
  const [reviewed, setReviewed] = useState({ hash: map.map_hash, isNewer: false });
  // A newer discovery clears the selection: it has to be reviewed first.
  if (reviewed.hash !== map.map_hash) {
    setReviewed({ hash: map.map_hash, isNewer: true });
    setChosen([]);
    setSaid(null);
  }
  const send = async () => {
    setSaid(null);
    setReviewed({ hash: map.map_hash, isNewer: false });
    const answer = await approve.run({
      params: { node_id: node.id },
      body: {
        map_hash: map.map_hash,
        ...(isAll ? {} : { slot_indexes: [...chosen].sort((a, b) => a - b) }),
        ...(policy === '' ? {} : { wipe_method: policy }),
      },
    });
    if (answer === null) return;
    const made = answer.data.slots.map(({ slot_index }) => slot_index);
    setSaid(
      made.length === 0
        ? 'Already approved. Nothing changed.'
        : `Approved slots: ${made.join(', ')}. New slots become available when their first wipe is proven.`,
    );
    setChosen([]);
  };
  if (indexes.length === 0)
    return (
      <EmptyState title="No candidates">
        The agent found no usable GPU. See the prerequisites above and the topology.
      </EmptyState>
    );
  return (
    <Section title="Candidates">
      <Stack gap="sm">
        <Checkbox
          label={`All ${indexes.length}`}
          checked={isAll}
          indeterminate={!isAll && chosen.length > 0}
          onChange={(event) => setChosen(event.currentTarget.checked ? indexes : [])}
        />
        {map.candidates.map((candidate) => (
          <OneCandidate
            key={candidate.id}
            candidate={candidate}
            isChosen={chosen.includes(candidate.slot_index)}
            onChoose={(isChosen) => {
              setSaid(null);
              setChosen((before) =>
                isChosen ? [...before, candidate.slot_index] : before.filter((index) => index !== candidate.slot_index),
              );
            }}
          />
        ))}
        <NativeSelect
          label="Wipe method after each use"
          description={WIPE_CHOICES.find(([value]) => value === policy)?.[2]}
          value={policy}
          maw={520}
          onChange={(event) => setWipeChoice(event.currentTarget.value as WipeChoice)}
        >
          {WIPE_CHOICES.map(([value, label]) => (
            <option key={value} value={value}>
              {label}
            </option>
          ))}
        </NativeSelect>
        {said !== null && (
          <p className="panel" data-tone="good" role="status" style={{ margin: 0 }}>
            <span className="panel-body">{said}</span>
          </p>
        )}
        {reasons.length > 0 && said === null && (
          <div className="panel" data-tone="idle" role="status">
            <div className="panel-body">
              {reasons.length === 1 ? reasons[0] : 'Approval is blocked:'}
              {reasons.length > 1 && (
                <List size="sm">
                  {reasons.map((reason) => (
                    <List.Item key={reason}>{reason}</List.Item>
                  ))}
                </List>
              )}
            </div>
          </div>
        )}
        {reviewed.isNewer && (
          <p className="panel" data-tone="warn" role="status" style={{ margin: 0 }}>
            <span className="panel-body">
              A newer discovery found changes and is shown now. Review it, then select slots.
            </span>
          </p>
        )}
        {approve.error !== null && (
          <ErrorPanel error={approve.error}>
            {approve.error.code === 'precondition_failed' && <p style={{ margin: '4px 0' }}>No slots were approved.</p>}
          </ErrorPanel>
        )}
        <CliCommand
          command={command(
            ['admin', 'slot', 'approve', node.name],
            [
              ['all', isAll],
              ['slots', isAll ? null : [...chosen].sort((a, b) => a - b).join(',')],
              ['wipe-method', policy],
            ],
          )}
        />
        <Group>
          <ActionButton
            loading={approve.isRunning}
            disabledReason={reasons.length === 0 ? null : reasons.join(' ')}
            onClick={() => void send()}
          >
            {isAll ? 'Approve all' : `Approve ${count(chosen.length, 'slot')}`}
          </ActionButton>
        </Group>
      </Stack>
    </Section>
  );
};
