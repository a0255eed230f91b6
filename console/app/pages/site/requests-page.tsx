/** What waits for an operator: people who signed up, and tenants who need more GPUs. Decided requests stay as a record. */
import { SegmentedControl, Stack } from '@mantine/core';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useMemo } from 'react';
import { useAll } from '../../api/read.ts';
import { ResourceSection } from '../../resource/resource-section.tsx';
import { Page } from '../../ui/page.tsx';
import { quotaRequests, signUpRequests } from './declared/requests.tsx';
import './site.css';

export const RequestsPage = () => {
  const isAll = useSearch({ from: '/console/site/requests' }).show === 'all';
  const navigate = useNavigate();
  const organizations = useAll('adminOrganizationList', {});
  const names = useMemo(
    () => new Map((organizations.data ?? []).map(({ id, name }) => [id, name])),
    [organizations.data],
  );
  return (
    <Page title="Requests" subtitle="People who wait for approval, and tenants who request more GPUs.">
      <SegmentedControl
        aria-label="Requests shown"
        value={isAll ? 'all' : 'open'}
        onChange={(value) =>
          void navigate({ to: '/site/requests', search: value === 'all' ? { show: 'all' } : {}, replace: true })
        }
        data={[
          { value: 'open', label: 'Open' },
          { value: 'all', label: 'All' },
        ]}
        style={{ alignSelf: 'flex-start' }}
      />
      <Stack gap="md">
        <ResourceSection resource={quotaRequests(isAll ? undefined : 'open', names)} />
        <ResourceSection resource={signUpRequests(isAll ? undefined : 'pending')} />
      </Stack>
    </Page>
  );
};
