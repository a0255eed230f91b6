/** Held tasks after a restore of the database: on the page of all nodes, and on the page of each held one with its release. */
import { Checkbox, Group } from '@mantine/core';
import { IconAlertTriangle } from '@tabler/icons-react';
import { type ReactNode, useState } from 'react';
import { useMay } from '../../api/me.tsx';
import { useRead } from '../../api/read.ts';
import { command } from '../../format/shell.ts';
import { count } from '../../format/size.ts';
import { ReasonAction } from './action-controls.tsx';

const POLL_MS = 30_000;

export const useRestore = () => {
  const whyNot = useMay();
  const isAllowed = whyNot('admin.trust.read') === null;
  return useRead('adminRestoreGet', {}, { enabled: isAllowed, everyMs: POLL_MS }).data;
};

const Notice = ({ text, children }: Readonly<{ text: string; children?: ReactNode }>) => (
  <Group className="panel" data-tone="warn" role="status" gap={10}>
    <IconAlertTriangle size={17} aria-hidden />
    <span className="panel-body" style={{ flex: 1, minWidth: 200 }}>
      {text}
    </span>
    {children}
  </Group>
);

export const RestoreNotice = () => {
  const held = useRestore()?.held_nodes ?? [];
  if (held.length === 0) return null;
  return (
    <Notice
      text={`The database was restored. Wipes and launches wait on ${count(held.length, 'node')} until an operator compares each host and releases it.`}
    />
  );
};

export const NodeRestoreNotice = ({ nodeId }: Readonly<{ nodeId: string }>) => {
  const held = useRestore()?.held_nodes.find(({ node_id }) => node_id === nodeId);
  const whyNot = useMay();
  const [accepts, setAccepts] = useState(false);
  if (held === undefined) return null;
  return (
    <Notice
      text={
        held.inventory_at === null
          ? 'The database was restored. Destructive tasks are held, and the host has not reported its inventory since.'
          : `The database was restored. Destructive tasks are held; the host differs from the claims in ${count(held.findings, 'finding')}.`
      }
    >
      <ReasonAction
        label="Release tasks"
        title={`Release held tasks of ${held.name}`}
        disabledReason={whyNot('admin.trust.update')}
        isDestructive
        operation="adminNodeRestoreRelease"
        request={(reason) => ({ params: { node_id: nodeId }, body: { reason, accepts_findings: accepts } })}
        command={(reason) =>
          command(
            ['admin', 'restore', 'release', held.name],
            [
              ['accept-findings', accepts],
              ['reason', reason],
            ],
          )
        }
      >
        <Checkbox
          label="Release although the host differs from the claims"
          description="Waiting wipes start at once."
          checked={accepts}
          onChange={(event) => setAccepts(event.currentTarget.checked)}
        />
      </ReasonAction>
    </Notice>
  );
};
