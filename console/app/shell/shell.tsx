/** The frame around every page: navigation, live indicator, palette and account menu. */
import { AppShell, Burger, Button, Group, Kbd, Text, UnstyledButton } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { IconSearch } from '@tabler/icons-react';
import { Link } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import { useBackend } from '../api/backend.tsx';
import { AccountMenu, ThemeSwitch } from './account-menu.tsx';
import { useCurrentProject } from './current-project.ts';
import { useFocusAfterChange } from './focus.ts';
import { FreshSignIn } from './fresh-sign-in.tsx';
import { LiveIndicator } from './live-indicator.tsx';
import { Navigation } from './navigation.tsx';
import { Palette } from './palette.tsx';

const Brand = () => (
  <UnstyledButton renderRoot={(props) => <Link to="/" {...props} />} aria-label="GPUaaS home">
    <Group gap={8} wrap="nowrap">
      <img src="/assets/icon-v1.svg" width={22} height={22} alt="" />
      <Text fw={700}>GPUaaS</Text>
    </Group>
  </UnstyledButton>
);

const SessionEnded = () => {
  const { signInUrl } = useBackend();
  return (
    <Group className="panel" data-tone="warn" role="alert" mb="md" justify="space-between">
      <span className="panel-body">Your session has ended. Data may be outdated and changes are not possible.</span>
      <Button size="xs" component="a" href={signInUrl(globalThis.location.pathname + globalThis.location.search)}>
        Sign in again
      </Button>
    </Group>
  );
};

export const Shell = ({ isSignedOut, children }: Readonly<{ isSignedOut: boolean; children: ReactNode }>) => {
  const [isOpen, { toggle, close }] = useDisclosure(false);
  const [isSearching, setSearching] = useState(false);
  const projectId = useCurrentProject();
  useFocusAfterChange();
  return (
    <AppShell
      header={{ height: 52 }}
      navbar={{ width: 240, breakpoint: 'sm', collapsed: { mobile: !isOpen } }}
      padding={{ base: 'sm', sm: 'lg' }}
    >
      <a className="visually-hidden skip-link" href="#content">
        Skip to content
      </a>
      <AppShell.Header>
        <Group h="100%" px="md" justify="space-between" wrap="nowrap">
          <Group gap="sm" wrap="nowrap">
            <Burger opened={isOpen} onClick={toggle} hiddenFrom="sm" size="sm" aria-label="Navigation" />
            <Brand />
          </Group>
          <Group gap="sm" wrap="nowrap">
            <LiveIndicator />
            <Button
              variant="default"
              leftSection={<IconSearch size={15} aria-hidden />}
              rightSection={<Kbd size="xs">Ctrl K</Kbd>}
              onClick={() => setSearching(true)}
              visibleFrom="xs"
            >
              Search or paste an ID
            </Button>
            <Button variant="default" hiddenFrom="xs" px={8} aria-label="Search" onClick={() => setSearching(true)}>
              <IconSearch size={16} />
            </Button>
          </Group>
        </Group>
      </AppShell.Header>
      <AppShell.Navbar p="xs">
        <Navigation
          projectId={projectId}
          onGo={close}
          footer={
            <>
              <AccountMenu />
              <ThemeSwitch />
            </>
          }
        />
      </AppShell.Navbar>
      <AppShell.Main id="content" tabIndex={-1}>
        <div style={{ maxWidth: 1280, margin: '0 auto' }}>
          {isSignedOut && <SessionEnded />}
          {children}
        </div>
      </AppShell.Main>
      <FreshSignIn />
      <Palette
        isOpen={isSearching}
        onOpen={() => setSearching(true)}
        onClose={() => setSearching(false)}
        projectId={projectId}
      />
    </AppShell>
  );
};
