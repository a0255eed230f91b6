/** GPU limits of an organization and of its projects that the user sees, with their use. */
import { Stack } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { useMay } from '../../api/me.tsx';
import { EmptyState, Section } from '../../ui/page.tsx';
import { QuotaBar } from '../overview/quota-bars.tsx';
import type { ShownLimit } from './use-gpu-limits.ts';

export const GpuLimits = ({
  organizationId,
  limits,
}: Readonly<{ organizationId: string; limits: readonly ShownLimit[] | null }>) => {
  const isOperator = useMay()('admin.quota.read') === null;
  return (
    <Section
      title="GPU limits"
      actions={
        isOperator && (
          <Link className="link" to="/site/organizations" search={{ organization: organizationId }}>
            Change limits
          </Link>
        )
      }
    >
      {limits === null ? (
        <EmptyState title="No accessible projects">
          GPU limits are shown to members of a project. Ask an admin of the organization to add you to one.
        </EmptyState>
      ) : limits.length === 0 ? (
        'No GPU limit, and no GPUs are used.'
      ) : (
        <Stack gap="md">
          {limits.map(({ of, quota }) => (
            <QuotaBar key={quota.project_id ?? ''} of={of} quota={quota} />
          ))}
        </Stack>
      )}
    </Section>
  );
};
