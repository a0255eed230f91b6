import type { Allocation } from '@gpuaas/sdk';
import { Button } from '@mantine/core';
import { IconRoute } from '@tabler/icons-react';
import { Link } from '@tanstack/react-router';

/** Opens the trace of the allocation's correlation ID. */
export const TraceButton = ({ project_id, correlation_id }: Pick<Allocation, 'project_id' | 'correlation_id'>) => (
  <Button
    size="xs"
    variant="default"
    leftSection={<IconRoute size={15} aria-hidden />}
    renderRoot={(props) => (
      <Link
        to="/projects/$projectId/trace"
        params={{ projectId: project_id }}
        search={{ id: correlation_id }}
        {...props}
      />
    )}
  >
    Open trace
  </Button>
);
