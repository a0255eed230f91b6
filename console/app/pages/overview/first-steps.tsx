/** An empty project: what one does first, here and on the command line. */
import { Stack } from '@mantine/core';
import { command } from '../../format/shell.ts';
import { CopyBlock } from '../../ui/copy.tsx';
import { Section } from '../../ui/page.tsx';
import { LaunchButton } from '../allocations/launch-button.tsx';

export const FirstSteps = ({ projectId }: Readonly<{ projectId: string }>) => (
  <Section title="Nothing runs here yet">
    <Stack gap="md">
      <span>
        A launch takes a form that is filled already, and some minutes. You see the price before anything is charged.
      </span>
      <div>
        <LaunchButton projectId={projectId}>Launch</LaunchButton>
      </div>
      <h3 style={{ margin: 0, fontSize: '0.9375rem' }}>Or from your own terminal</h3>
      <ol className="steps">
        <li>
          Sign in
          <CopyBlock text={command(['login'], [['url', globalThis.location.origin]])} label="command to sign in" />
        </li>
        <li>
          Add your SSH key, and use this project
          <CopyBlock
            text={`${command(['ssh-key', 'add', 'laptop'])} ~/.ssh/id_ed25519.pub\n${command(['project', 'use', projectId])}`}
            label="commands for key and project"
          />
        </li>
        <li>
          See what is offered; the page Launch writes the command for it
          <CopyBlock text={command(['capacity', 'list'])} label="command to see capacity" />
        </li>
      </ol>
    </Stack>
  </Section>
);
