/** The limits of an organization: its GPUs and the requests for more, and the limits of everything else. */
import { useParams } from '@tanstack/react-router';
import { useMe } from '../../api/me.tsx';
import { NotFoundPage } from '../../shell/not-found.tsx';
import { Page } from '../../ui/page.tsx';
import { GpuLimits } from './gpu-limits.tsx';
import { OrganizationLimits } from './organization-limits.tsx';
import { QuotaRequests } from './quota-requests.tsx';

export const LimitsPage = () => {
  const { organizationId = '' } = useParams({ strict: false });
  const organization = useMe().organizations.find(({ id }) => id === organizationId);
  if (organization === undefined) return <NotFoundPage />;
  return (
    <Page
      title="Limits"
      subtitle={`Of ${organization.display_name}. A launch needs room in the GPU limits of the organization and of its project.`}
    >
      <GpuLimits organizationId={organizationId} />
      <QuotaRequests organizationId={organizationId} />
      <OrganizationLimits organizationId={organizationId} />
    </Page>
  );
};
