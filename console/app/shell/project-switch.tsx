/** The current project, and switching to another. */
import { Button, Menu, Text } from '@mantine/core';
import { IconFolder, IconPlus, IconSelector } from '@tabler/icons-react';
import { Link } from '@tanstack/react-router';
import { useMe } from '../api/me.tsx';

export const ProjectSwitch = ({ projectId, onGo }: Readonly<{ projectId: string | null; onGo(): void }>) => {
  const me = useMe();
  const current = me.projects.find(({ id }) => id === projectId);
  return (
    <Menu width={260} position="bottom-start">
      <Menu.Target>
        <Button
          variant="default"
          fullWidth
          justify="flex-start"
          styles={{ label: { flex: 1 } }}
          leftSection={<IconFolder size={16} aria-hidden />}
          rightSection={<IconSelector size={16} aria-hidden />}
          {...(current === undefined ? {} : { 'aria-label': `Switch project, current: ${current.name}` })}
        >
          <Text span truncate size="sm" title={current?.name}>
            {current?.name ?? 'Select project'}
          </Text>
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        {me.organizations.map((organization) => (
          <div key={organization.id}>
            <Menu.Label>{organization.display_name}</Menu.Label>
            {me.projects
              .filter((project) => project.organization_id === organization.id)
              .map((project) => (
                <Menu.Item
                  key={project.id}
                  onClick={onGo}
                  {...(project.id === projectId ? { 'aria-current': 'true' as const } : {})}
                  renderRoot={(props) => (
                    <Link to="/projects/$projectId" params={{ projectId: project.id }} {...props} />
                  )}
                >
                  {project.name}
                </Menu.Item>
              ))}
            <Menu.Item
              leftSection={<IconPlus size={14} aria-hidden />}
              onClick={onGo}
              renderRoot={(props) => (
                <Link
                  to="/organizations/$organizationId"
                  params={{ organizationId: organization.id }}
                  search={{ tab: 'projects' }}
                  {...props}
                />
              )}
            >
              All projects
            </Menu.Item>
          </div>
        ))}
      </Menu.Dropdown>
    </Menu>
  );
};
