/** Actions on one slot. Only a verified wipe, or a two-person override, makes a slot available again. */
import type { Node, Slot } from '@gpuaas/sdk';
import { Text } from '@mantine/core';
import { useState } from 'react';
import { command } from '../../format/shell.ts';
import { exact } from '../../format/time.ts';
import { whyNot } from '../../ui/action-button.tsx';
import { ReasonAction } from './action-controls.tsx';
import { RetryCleanup } from './retry-cleanup.tsx';

type Of = Readonly<{ node: Node; slot: Slot }>;

const cli = ({ node, slot }: Of, verb: string, reason: string): string =>
  command(['admin', 'slot', verb, node.name, String(slot.slot_index)], [['reason', reason]]);

const Selling = (of: Of) => {
  const { node, slot } = of;
  const params = { node_id: node.id, slot_id: slot.id };
  return (
    <>
      <ReasonAction
        label="Disable"
        title={`Disable slot ${slot.slot_index}`}
        disabledReason={whyNot(slot.actions, 'disable')}
        operation="adminNodeSlotDisable"
        request={(reason) => ({ params, body: { reason } })}
        ifMatch={slot.version}
        command={(reason) => cli(of, 'disable', reason)}
      >
        The slot becomes unschedulable. A running allocation continues.
      </ReasonAction>
      <ReasonAction
        label="Enable"
        title={`Enable slot ${slot.slot_index}`}
        disabledReason={whyNot(slot.actions, 'enable')}
        operation="adminNodeSlotEnable"
        request={(reason) => ({ params, body: { reason } })}
        ifMatch={slot.version}
        command={(reason) => cli(of, 'enable', reason)}
      >
        The slot becomes schedulable again if its hardware matches the approval.
      </ReasonAction>
    </>
  );
};

const Mending = (of: Of) => {
  const { node, slot } = of;
  const params = { node_id: node.id, slot_id: slot.id };
  return (
    <>
      <ReasonAction
        label="Repair"
        title={`Repair slot ${slot.slot_index}`}
        disabledReason={whyNot(slot.actions, 'repair')}
        isDestructive
        operation="adminNodeSlotRepair"
        request={(reason) => ({ params, body: { reason } })}
        ifMatch={slot.version}
        command={(reason) => cli(of, 'repair', reason)}
      >
        Rebinds the devices, runs discovery, and wipes and verifies disk{' '}
        <span className="mono">{slot.nvme_serial ?? ''}</span>. The slot becomes schedulable only with a wipe proof.
      </ReasonAction>
      <ReasonAction
        label="Quarantine"
        title={`Quarantine slot ${slot.slot_index}`}
        disabledReason={whyNot(slot.actions, 'quarantine')}
        operation="adminNodeSlotQuarantine"
        request={(reason) => ({ params, body: { reason } })}
        ifMatch={slot.version}
        command={(reason) => cli(of, 'quarantine', reason)}
      >
        The slot is unschedulable until repaired.
      </ReasonAction>
    </>
  );
};

const MarkWiped = (of: Of) => {
  const { node, slot } = of;
  const [said, setSaid] = useState<string | null>(null);
  return (
    <>
      <ReasonAction
        label="Mark wiped"
        title={`Two-person override for slot ${slot.slot_index}`}
        disabledReason={whyNot(slot.actions, 'mark_wiped')}
        isDestructive
        typeToConfirm={`${node.name} ${slot.slot_index}`}
        operation="adminNodeSlotMarkWiped"
        request={(reason) => ({ params: { node_id: node.id, slot_id: slot.id }, body: { reason } })}
        command={(reason) => cli(of, 'mark-wiped', reason)}
        onDone={({ data }) =>
          setSaid(
            data.override.confirmed_at === null
              ? `Recorded. A second operator must confirm before ${exact(data.override.expires_at)}. Until then nothing changes.`
              : `Two operators confirmed. The wipe is recorded as overridden; the slot is ${data.slot.status}.`,
          )
        }
      >
        <Text>
          You confirm without a wipe proof that no tenant data is left on this slot. A second operator must confirm
          within 1 hour. Both names are audited. The wipe is recorded as overridden, and the slot becomes available only
          if its region allows overrides.
        </Text>
        <Text mt="xs">To wipe the slot with a proof instead, use Repair.</Text>
      </ReasonAction>
      {said !== null && (
        <p className="panel" data-tone="warn" role="status" style={{ flexBasis: '100%', margin: 0 }}>
          <span className="panel-body">{said}</span>
        </p>
      )}
    </>
  );
};

export const SlotActions = ({ slots, ...of }: Of & Readonly<{ slots: readonly Slot[] }>) => (
  <>
    <RetryCleanup {...of} slots={slots} />
    <Mending {...of} />
    <Selling {...of} />
    <MarkWiped {...of} />
  </>
);
