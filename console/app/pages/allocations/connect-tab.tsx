/**
 * All ways to connect: the CLI, plain ssh and editors, a terminal in the page, the serial console, and other users with
 * access.
 */

import type { Allocation } from '@gpuaas/sdk';
import { Group, Stack, Text } from '@mantine/core';
import { IconDeviceDesktop, IconTerminal2 } from '@tabler/icons-react';
import { useState } from 'react';
import { useMay } from '../../api/me.tsx';
import { command } from '../../format/shell.ts';
import { ActionButton, whyNot } from '../../ui/action-button.tsx';
import { CopyBlock } from '../../ui/copy.tsx';
import { Section } from '../../ui/page.tsx';
import { sshHostName } from './connect.ts';
import { Grants } from './grants.tsx';
import { useProjectFlags } from './hooks.ts';
import { Sessions } from './sessions.tsx';
import { SshFacts } from './ssh-facts.tsx';
import { type PaneKind, TerminalPane } from './terminal-pane.tsx';

const Commands = ({ allocation }: Readonly<{ allocation: Allocation }>) => {
  const flags = useProjectFlags(allocation.project_id);
  return (
    <Stack gap="sm">
      <div>
        <h3 className="al-sub">With the CLI</h3>
        <CopyBlock text={command(['ssh', allocation.name], flags)} label="ssh command" />
        <Text size="sm" className="muted">
          Requires an SSH key from the launch or one added below. The CLI verifies the host key.
        </Text>
      </div>
      <div>
        <h3 className="al-sub">With ssh, scp, rsync and VS Code</h3>
        <CopyBlock
          text={`${command(['ssh-config'], [['write', true]])}\nssh ${sshHostName(allocation.name)}`}
          label="ssh-config commands"
        />
        <Text size="sm" className="muted">
          The first command configures ssh for all your allocations. Run it again after each launch. In VS Code, use
          “Remote-SSH: Connect to Host” with the same name.
        </Text>
      </div>
    </Stack>
  );
};

const InPage = ({ allocation }: Readonly<{ allocation: Allocation }>) => {
  const may = useMay();
  const [open, setOpen] = useState<PaneKind | null>(null);
  const toTerminal = whyNot(allocation.actions, 'connect');
  const toConsole = whyNot(allocation.actions, 'console');
  const looksOnly = may('allocation.connect', { project: allocation.project_id }) !== null;
  return (
    <Stack gap="sm">
      <Group gap="xs">
        <ActionButton
          leftSection={<IconTerminal2 size={16} aria-hidden />}
          disabledReason={toTerminal}
          onClick={() => setOpen('terminal')}
        >
          Open terminal
        </ActionButton>
        <ActionButton
          variant="default"
          leftSection={<IconDeviceDesktop size={16} aria-hidden />}
          disabledReason={toConsole}
          onClick={() => setOpen('console')}
        >
          {looksOnly ? 'View serial console' : 'Open serial console'}
        </ActionButton>
      </Group>
      <Text size="sm" className="muted">
        The terminal needs no SSH key. The serial console works without a network in the guest OS and shows boot
        messages.
      </Text>
      {open !== null && <TerminalPane key={open} allocation={allocation} kind={open} onClose={() => setOpen(null)} />}
    </Stack>
  );
};

export const ConnectTab = ({ allocation }: Readonly<{ allocation: Allocation }>) => {
  const refusal = whyNot(allocation.actions, 'connect');
  return (
    <Stack gap="md">
      <Section title="SSH">
        <div className="al-two-columns">
          {refusal === null ? <Commands allocation={allocation} /> : <Text size="sm">{refusal}</Text>}
          {(refusal === null || allocation.ssh !== null) && <SshFacts ssh={allocation.ssh} />}
        </div>
      </Section>
      <Section title="In the browser">
        <InPage allocation={allocation} />
      </Section>
      <Grants allocation={allocation} />
      <Sessions allocation={allocation} />
    </Stack>
  );
};
