/** The signed-in user, the theme, and sign-out. */
import { Button, Menu, SegmentedControl, useMantineColorScheme } from '@mantine/core';
import { IconLogout, IconUser } from '@tabler/icons-react';
import { Link } from '@tanstack/react-router';
import { useMe } from '../api/me.tsx';
import { NOT_SIGNED_OUT, useSignOut } from '../api/sign-out.ts';

export const ThemeSwitch = () => {
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  return (
    <SegmentedControl
      size="xs"
      fullWidth
      role="radiogroup"
      aria-label="Theme"
      value={colorScheme}
      onChange={(value) => setColorScheme(value as typeof colorScheme)}
      data={[
        { value: 'light', label: 'Light' },
        { value: 'dark', label: 'Dark' },
        { value: 'auto', label: 'System' },
      ]}
    />
  );
};

export const AccountMenu = () => {
  const me = useMe();
  const { hasFailed, leave } = useSignOut();
  return (
    <Menu position="top-start" width={220}>
      <Menu.Target>
        <Button
          variant="subtle"
          color="gray"
          fullWidth
          justify="flex-start"
          leftSection={<IconUser size={16} aria-hidden />}
        >
          {me.name}
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>{me.email ?? me.id}</Menu.Label>
        <Menu.Item renderRoot={(props) => <Link to="/settings" {...props} />}>Settings</Menu.Item>
        <Menu.Item component="a" href="/docs" target="_blank">
          API reference
        </Menu.Item>
        <Menu.Divider />
        <Menu.Item leftSection={<IconLogout size={15} aria-hidden />} closeMenuOnClick={false} onClick={leave}>
          Sign out
        </Menu.Item>
        {hasFailed && <Menu.Label role="alert">{NOT_SIGNED_OUT}</Menu.Label>}
      </Menu.Dropdown>
    </Menu>
  );
};
