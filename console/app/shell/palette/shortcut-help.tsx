/** The list of shortcuts, and the switch for those without Ctrl. */
import { Kbd, Modal, Switch, Text } from '@mantine/core';
import { Fragment, type ReactNode } from 'react';
import type { Target } from './shortcuts.ts';

const Keys = ({ keys, children }: Readonly<{ keys: readonly string[]; children: ReactNode }>) => (
  <>
    <dt>
      {keys.map((key, index) => (
        <Fragment key={key}>
          {index > 0 && ' then '}
          <Kbd>{key}</Kbd>
        </Fragment>
      ))}
    </dt>
    <dd>{children}</dd>
  </>
);

export const ShortcutHelp = ({
  isOpen,
  onClose,
  targets,
  isOn,
  onToggle,
}: Readonly<{
  isOpen: boolean;
  onClose(): void;
  targets: readonly Target[];
  isOn: boolean;
  onToggle(isOn: boolean): void;
}>) => (
  <Modal opened={isOpen} onClose={onClose} title={<Text fw={600}>Keyboard shortcuts</Text>}>
    <dl className="facts">
      <Keys keys={['Ctrl K']}>Search, or paste an ID (Cmd K on a Mac)</Keys>
      <Keys keys={['/']}>Search</Keys>
      <Keys keys={['?']}>Show this list</Keys>
      {targets.map(({ key, label }) => (
        <Keys key={key} keys={['g', key]}>
          {label}
        </Keys>
      ))}
      <Keys keys={['Ctrl V']}>Open a pasted ID (outside of a field)</Keys>
      <Keys keys={['Esc']}>Close dialog or menu</Keys>
    </dl>
    <Switch
      mt="md"
      label="Single-key shortcuts"
      description="Ctrl K always works."
      checked={isOn}
      onChange={(event) => onToggle(event.currentTarget.checked)}
    />
  </Modal>
);
