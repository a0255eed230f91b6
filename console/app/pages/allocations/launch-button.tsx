/** The link to the launch form, filled or empty; it shows why if the role may not launch. */
import { Button, type ButtonProps } from '@mantine/core';
import { IconRocket } from '@tabler/icons-react';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { useMay } from '../../api/me.tsx';
import { ActionButton } from '../../ui/action-button.tsx';
import type { LaunchSearch } from '../launch/form.ts';

export const LaunchButton = ({
  projectId,
  search = {},
  children,
  ...rest
}: ButtonProps & Readonly<{ projectId: string; search?: LaunchSearch; children: ReactNode }>) => {
  const refusal = useMay()('allocation.create', { project: projectId });
  const icon = <IconRocket size={16} aria-hidden />;
  return refusal === null ? (
    <Button
      leftSection={icon}
      {...rest}
      renderRoot={(props) => (
        <Link to="/projects/$projectId/launch" params={{ projectId }} search={search} {...props} />
      )}
    >
      {children}
    </Button>
  ) : (
    <ActionButton leftSection={icon} {...rest} disabledReason={refusal}>
      {children}
    </ActionButton>
  );
};
