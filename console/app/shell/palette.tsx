/**
 * Keyboard access from anywhere: Ctrl K opens a page or a resource by name, and an ID pasted outside of a text field
 * opens its resource. `?` shows the shortcuts.
 */
import { Modal, useMantineColorScheme } from '@mantine/core';
import { useRouter } from '@tanstack/react-router';
import { useEffect, useMemo, useRef, useState } from 'react';
import { useBackend } from '../api/backend.tsx';
import { refusalOf, useMe } from '../api/me.tsx';
import { NOT_SIGNED_OUT } from '../api/sign-out.ts';
import type { ActionName, Entry } from './palette/entry.ts';
import { PaletteBox } from './palette/palette-box.tsx';
import { recognizeId } from './palette/recognize.ts';
import { ShortcutHelp } from './palette/shortcut-help.tsx';
import { keepShortcuts, meaningOf, readsShortcuts, targetsOf } from './palette/shortcuts.ts';
import { useEntries } from './palette/use-entries.ts';

/** How long after g its letter may follow. */
const AFTER_G_MS = 1_500;

/** Whether the target is a text field: keys and pastes there belong to the field. */
const isField = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement &&
  (target.isContentEditable || target.closest('input, textarea, select, [role="textbox"], .xterm') !== null);

/** While a dialog is open, keys and pastes belong to it. */
const isDialogOpen = (): boolean => document.querySelector('[role="dialog"]') !== null;

type PaletteProps = Readonly<{ isOpen: boolean; onOpen(): void; onClose(): void; projectId: string | null }>;

export const Palette = ({ isOpen, onOpen, onClose, projectId }: PaletteProps) => {
  const me = useMe();
  const router = useRouter();
  const { signOut } = useBackend();
  const { setColorScheme } = useMantineColorScheme();
  const [query, setQuery] = useState('');
  const [note, setNote] = useState('');
  const [isHelping, setHelping] = useState(false);
  const [isBareOn, setBareOn] = useState(readsShortcuts);
  const entries = useEntries(isOpen, query, projectId);
  const targets = useMemo(() => {
    const project = me.projects.find(({ id }) => id === projectId);
    return targetsOf({
      projectId,
      organizationId: project?.organization_id ?? me.organizations[0]?.id ?? null,
      isOperator: refusalOf(me, 'admin.node.read') === null,
    });
  }, [me, projectId]);

  const close = () => {
    onClose();
    setQuery('');
    setNote('');
  };
  const open = (text: string) => {
    setQuery(text);
    onOpen();
  };

  const actions: Readonly<Record<ActionName, () => void>> = {
    sign_out: () => {
      void signOut().then(
        (to) => globalThis.location.assign(to),
        () => setNote(NOT_SIGNED_OUT),
      );
    },
    theme_light: () => setColorScheme('light'),
    theme_dark: () => setColorScheme('dark'),
    theme_auto: () => setColorScheme('auto'),
    copy_address: () => {
      navigator.clipboard.writeText(globalThis.location.href).then(
        () => setNote('Address copied.'),
        () => setNote('The browser blocked copying.'),
      );
    },
    show_shortcuts: () => {
      close();
      setHelping(true);
    },
  };
  const choose = ({ goesTo }: Entry, inNewTab: boolean) => {
    if ('action' in goesTo) return actions[goesTo.action]();
    if (inNewTab) globalThis.open(goesTo.href, '_blank', 'noopener');
    else router.history.push(goesTo.href);
    close();
  };

  // Listeners are registered once and read current values through this.
  const current = useRef({ isOpen, isBareOn, targets, open, close });
  current.current = { isOpen, isBareOn, targets, open, close };
  useEffect(() => {
    let gAt = Number.NEGATIVE_INFINITY;
    const onKey = (event: KeyboardEvent) => {
      const now = current.current;
      const meaning = meaningOf(event, {
        targets: now.targets,
        isAfterG: event.timeStamp - gAt < AFTER_G_MS,
        isBare: now.isBareOn && !isField(event.target) && !isDialogOpen(),
      });
      gAt = meaning.does === 'await' ? event.timeStamp : Number.NEGATIVE_INFINITY;
      if (meaning.does === 'nothing' || meaning.does === 'await') return;
      event.preventDefault();
      if (meaning.does === 'go') router.history.push(meaning.href);
      else if (meaning.does === 'help') setHelping(true);
      else if (now.isOpen) now.close();
      else now.open('');
    };
    const onPaste = (event: ClipboardEvent) => {
      if (isField(event.target) || isDialogOpen()) return;
      const recognized = recognizeId(event.clipboardData?.getData('text/plain') ?? '');
      if (recognized === null) return;
      event.preventDefault();
      current.current.open(recognized.id);
    };
    document.addEventListener('keydown', onKey);
    document.addEventListener('paste', onPaste);
    return () => {
      document.removeEventListener('keydown', onKey);
      document.removeEventListener('paste', onPaste);
    };
  }, [router]);

  return (
    <>
      <Modal.Root opened={isOpen} onClose={close} padding={0} size="lg" centered={false} yOffset="12vh">
        <Modal.Overlay backgroundOpacity={0.5} />
        <Modal.Content aria-label="Go to">
          <Modal.Body>
            <PaletteBox query={query} entries={entries} note={note} onQuery={setQuery} onChoose={choose} />
          </Modal.Body>
        </Modal.Content>
      </Modal.Root>
      <ShortcutHelp
        isOpen={isHelping}
        onClose={() => setHelping(false)}
        targets={targets}
        isOn={isBareOn}
        onToggle={(isOn) => {
          keepShortcuts(isOn);
          setBareOn(isOn);
        }}
      />
    </>
  );
};
