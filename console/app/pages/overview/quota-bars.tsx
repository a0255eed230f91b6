/** The use of limits. Without a limit a sentence says so and no bar is drawn. */

import type { Quota } from '@gpuaas/sdk';
import { Stack } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { useRead } from '../../api/read.ts';
import { count } from '../../format/size.ts';
import { Async } from '../../ui/async.tsx';
import { Section } from '../../ui/page.tsx';
import './overview.css';

export const QuotaBar = ({ of, quota: { gpu_limit, gpu_used } }: Readonly<{ of: string; quota: Quota }>) => {
  if (gpu_limit === null)
    return (
      <div>
        <div>{of}</div>
        <div className="muted">{count(gpu_used, 'GPU')} used, no limit</div>
      </div>
    );
  const said = `${gpu_used} of ${count(gpu_limit, 'GPU')} used`;
  const percent = gpu_limit === 0 ? 100 : Math.min(100, (100 * gpu_used) / gpu_limit);
  return (
    <div>
      <div>{of}</div>
      <div
        className="bar"
        data-tone={gpu_used >= gpu_limit ? 'warn' : 'busy'}
        // The sentence below has the same content.
        aria-hidden
      >
        <span style={{ width: `${percent}%` }} />
      </div>
      <div className="muted">
        {said}
        {gpu_used >= gpu_limit && ': quota exhausted'}
      </div>
    </div>
  );
};

export const QuotaBars = ({ projectId }: Readonly<{ projectId: string }>) => (
  <Section title="Quota">
    <Async of={useRead('quotaGet', { params: { project_id: projectId } })} rows={4}>
      {({ project, organization }) => (
        <Stack gap="md">
          <QuotaBar of="Project" quota={project} />
          <QuotaBar of="Organization" quota={organization} />
          <Link
            className="link"
            to="/organizations/$organizationId/limits"
            params={{ organizationId: organization.organization_id }}
          >
            Limits and requests
          </Link>
        </Stack>
      )}
    </Async>
  </Section>
);
