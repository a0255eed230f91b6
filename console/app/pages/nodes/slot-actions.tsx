/** What may be done with one slot. Only a verified wipe, or the word of two people, brings a slot back. */
import type { Node, Slot } from '@gpuaas/sdk';
import { Text } from '@mantine/core';
import { useState } from 'react';
import { command } from '../../format/shell.ts';
import { exact } from '../../format/time.ts';
import { whyNot } from '../../ui/action-button.tsx';
import { ReasonAction } from './act.tsx';
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
        Takes the slot out of sale. What runs on it is untouched.
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
        Puts the slot back into sale, if it still is what was approved.
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
        Its devices are bound anew, the host is discovered, and its disk{' '}
        <span className="mono">{slot.nvme_serial ?? ''}</span> is erased and read back. The slot comes back only with a
        proof; nobody holds it meanwhile.
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
        Nothing is placed on the slot until it is repaired.
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
        title={`Vouch for the wipe of slot ${slot.slot_index}`}
        disabledReason={whyNot(slot.actions, 'mark_wiped')}
        isDestructive
        typeToConfirm={`${node.name} ${slot.slot_index}`}
        operation="adminNodeSlotMarkWiped"
        request={(reason) => ({ params: { node_id: node.id, slot_id: slot.id }, body: { reason } })}
        command={(reason) => cli(of, 'mark-wiped', reason)}
        onDone={({ data }) =>
          setSaid(
            data.override.confirmed_at === null
              ? `You have vouched. Another operator has to do the same before ${exact(data.override.expires_at)}; until then nothing changes.`
              : 'Two people have vouched; the slot counts as wiped.',
          )
        }
      >
        <Text>
          You say that nothing of the last tenant is left on this slot, without a proof. It counts only when a second
          person says the same within an hour. Both names stay in the audit log, and no certificate of erasure can come
          of it.
        </Text>
        <Text mt="xs">Repairing the slot erases it and needs nobody’s word.</Text>
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
