/** An empty project: the first steps, in the console and with the CLI. */
import { Stack } from '@mantine/core';
import { command } from '../../format/shell.ts';
import { CopyBlock } from '../../ui/copy.tsx';
import { Section } from '../../ui/page.tsx';
import { LaunchButton } from '../allocations/launch-button.tsx';

export const FirstSteps = ({ projectId }: Readonly<{ projectId: string }>) => (
  <Section title="No allocations yet">
    <Stack gap="md">
      <span>The launch form has defaults for all fields and shows the price before you launch.</span>
      <div>
        <LaunchButton projectId={projectId}>Launch</LaunchButton>
      </div>
      <h3 style={{ margin: 0, fontSize: '0.9375rem' }}>With the CLI</h3>
      <ol className="steps">
        <li>
          Sign in
          <CopyBlock text={command(['login'], [['url', globalThis.location.origin]])} label="sign-in command" />
        </li>
        <li>
          Add your SSH key and select this project
          <CopyBlock
            text={`${command(['ssh-key', 'add', 'laptop'])} ~/.ssh/id_ed25519.pub\n${command(['project', 'use', projectId])}`}
            label="key and project commands"
          />
        </li>
        <li>
          List capacity. The launch page shows the matching command.
          <CopyBlock text={command(['capacity', 'list'])} label="capacity command" />
        </li>
      </ol>
    </Stack>
  </Section>
);
