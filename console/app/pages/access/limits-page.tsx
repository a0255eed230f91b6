/** The limits of an organization: its GPUs and the requests for more, and the limits of everything else. */
import type { Me } from '@gpuaas/sdk';
import { useParams } from '@tanstack/react-router';
import { useMe } from '../../api/me.tsx';
import { NotFoundPage } from '../../shell/not-found.tsx';
import { useLiveOrganization } from '../../shell/scope.tsx';
import { Async } from '../../ui/async.tsx';
import { Page } from '../../ui/page.tsx';
import { GpuLimits } from './gpu-limits.tsx';
import { OrganizationLimits } from './organization-limits.tsx';
import { QuotaRequests } from './quota-requests.tsx';
import { useGpuLimits } from './use-gpu-limits.ts';

export const LimitsPage = () => {
  const { organizationId = '' } = useParams({ strict: false });
  const organization = useMe().organizations.find(({ id }) => id === organizationId);
  return organization === undefined ? <NotFoundPage /> : <Limits organization={organization} />;
};

const Limits = ({ organization: { id, display_name } }: Readonly<{ organization: Me['organizations'][number] }>) => {
  useLiveOrganization(id);
  const limits = useGpuLimits(id);
  return (
    <Page
      title="Limits"
      subtitle={`Of ${display_name}. A launch needs room in the GPU limits of the organization and of its project.`}
    >
      <Async of={limits} label="GPU limits" rows={8}>
        {(found) => (
          <>
            <GpuLimits organizationId={id} limits={found} />
            {/* Below a section that grows they would move. */}
            <QuotaRequests organizationId={id} />
            <OrganizationLimits organizationId={id} />
          </>
        )}
      </Async>
    </Page>
  );
};
