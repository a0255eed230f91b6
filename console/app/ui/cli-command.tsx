/** The CLI command equivalent to the form. */
import { Button, Collapse } from '@mantine/core';
import { IconTerminal2 } from '@tabler/icons-react';
import { useState } from 'react';
import { CopyBlock } from './copy.tsx';

export const CliCommand = ({ command, isOpen = false }: Readonly<{ command: string; isOpen?: boolean }>) => {
  const [open, setOpen] = useState(isOpen);
  return (
    <div>
      <Button
        variant="subtle"
        color="gray"
        size="xs"
        leftSection={<IconTerminal2 size={15} aria-hidden />}
        aria-expanded={open}
        onClick={() => setOpen(!open)}
      >
        CLI command
      </Button>
      <Collapse expanded={open}>
        <CopyBlock text={command} label="command" />
      </Collapse>
    </div>
  );
};
