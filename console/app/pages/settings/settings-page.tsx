/** Settings of the user, outside of any project: profile, browser sessions, tokens and keys. */
import { Tabs } from '@mantine/core';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useMe } from '../../api/me.tsx';
import { Page } from '../../ui/page.tsx';
import { TabList } from '../../ui/tab-list.tsx';
import { ApiTokens } from './api-tokens.tsx';
import { BrowserSessions } from './browser-sessions.tsx';
import { Profile } from './profile.tsx';
import { SshKeys } from './ssh-keys.tsx';

const TABS = [
  ['profile', 'Profile'],
  ['sessions', 'Sessions'],
  ['tokens', 'API tokens'],
  ['ssh-keys', 'SSH keys'],
] as const;

export const SettingsPage = () => {
  const { tab: asked } = useSearch({ from: '/console/settings' });
  const navigate = useNavigate();
  const me = useMe();
  const tab = TABS.find(([value]) => value === asked)?.[0] ?? 'profile';
  return (
    <Page title="Settings" subtitle={`Signed in as ${me.name}.`}>
      <Tabs
        value={tab}
        keepMounted={false}
        onChange={(value) =>
          void navigate({ to: '/settings', search: value === null ? {} : { tab: value }, replace: true })
        }
      >
        <TabList current={tab} tabs={TABS} />
        <Tabs.Panel value="profile">
          <Profile />
        </Tabs.Panel>
        <Tabs.Panel value="sessions">
          <BrowserSessions />
        </Tabs.Panel>
        <Tabs.Panel value="tokens">
          <ApiTokens />
        </Tabs.Panel>
        <Tabs.Panel value="ssh-keys">
          <SshKeys />
        </Tabs.Panel>
      </Tabs>
    </Page>
  );
};
