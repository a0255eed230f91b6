/**
 * Candidates beside what is approved. Approving names the discovery that was looked at by its hash, so that nobody approves
 * what they have not seen.
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

const POLICIES = [
  ['', 'As the agent proposes', 'Each disk is erased in the strongest way that it has.'],
  ['nvme_sanitize', 'Sanitize', 'The drive erases everything, also what it no longer shows. Takes seconds to hours.'],
  ['nvme_format', 'Format', 'The drive erases its namespace by its own command. As thorough where the drive says so.'],
  [
    'blkdiscard',
    'Discard',
    'The blocks are given back and read back as empty. Weaker: what the drive keeps aside is not reached.',
  ],
] as const;
type Policy = (typeof POLICIES)[number][0];

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
          aria-label={`Choose slot ${candidate.slot_index}`}
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
            {isOpen ? 'Hide the fields' : 'Show the fields'}
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
        <DiffTable diff={differences(candidate)} label={`Slot ${candidate.slot_index}, field by field`} />
      )}
    </div>
  );
};

export const ApproveCandidates = ({ node, map }: Readonly<{ node: Node; map: TopologyMap }>) => {
  const approve = useChange('adminNodeSlotApprove');
  const [chosen, setChosen] = useState<readonly number[]>(() => proposedChoice(map));
  const [policy, setPolicy] = useState<Policy>('');
  const indexes = map.candidates.map(({ slot_index }) => slot_index);
  const isAll = indexes.length === chosen.length;
  const reasons = approvalReasons(map, chosen, whyNot(node.actions, 'approve'));
  const [said, setSaid] = useState<string | null>(null);
  const [looked, setLooked] = useState({ hash: map.map_hash, isNewer: false });
  // Nothing stays chosen of a discovery that another has replaced: what was found now has to be looked at first.
  if (looked.hash !== map.map_hash) {
    setLooked({ hash: map.map_hash, isNewer: true });
    setChosen([]);
    setSaid(null);
  }
  const send = async () => {
    setSaid(null);
    setLooked({ hash: map.map_hash, isNewer: false });
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
    setSaid(made.length === 0 ? 'They were approved already; nothing changed.' : `Approved: slot ${made.join(', ')}.`);
    setChosen([]);
  };
  if (indexes.length === 0)
    return (
      <EmptyState title="No candidates">
        The agent found no GPU that could become a slot. The prerequisites above and the topology say what it saw.
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
          label="How their disks are erased after each use"
          description={POLICIES.find(([value]) => value === policy)?.[2]}
          value={policy}
          maw={520}
          onChange={(event) => setPolicy(event.currentTarget.value as Policy)}
        >
          {POLICIES.map(([value, label]) => (
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
              {reasons.length === 1 ? reasons[0] : 'This cannot be approved yet:'}
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
        {looked.isNewer && (
          <p className="panel" data-tone="warn" role="status" style={{ margin: 0 }}>
            <span className="panel-body">
              Another discovery found something else, and is shown now. Look again, then choose what to approve.
            </span>
          </p>
        )}
        {approve.error !== null && (
          <ErrorPanel error={approve.error}>
            {approve.error.code === 'precondition_failed' && <p style={{ margin: '4px 0' }}>Nothing was approved.</p>}
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
