/** The command that installs an agent on a host. It contains a secret that is shown once and expires soon. */

import type { Operations } from '@gpuaas/sdk';
import { Stack, Text } from '@mantine/core';
import { Copyable, CopyBlock } from '../../ui/copy.tsx';
import { Facts } from '../../ui/page.tsx';
import { Until } from '../../ui/time.tsx';

export type Enrolment = Operations['adminNodeEnrollmentCreate']['response'];

export const EnrollmentCommand = ({ enrollment }: Readonly<{ enrollment: Enrolment }>) => (
  <Stack gap="sm">
    <Text>
      Copy the agent files (<span className="mono">install.sh</span>, <span className="mono">launch.sh</span>,{' '}
      <span className="mono">gpuaas-node-agent.mjs</span> and its <span className="mono">.service</span>) to the host
      and run this command in the same directory as root. The token is shown only once and works once. It expires{' '}
      <Until at={enrollment.expires_at} />.
    </Text>
    <CopyBlock text={enrollment.install_command} label="install command" />
    <Facts
      facts={[
        [
          'Node API',
          <span key="url" className="mono">
            {enrollment.node_api_url}
          </span>,
        ],
        ['CA fingerprint', <Copyable key="ca" text={enrollment.ca_sha256} label="fingerprint" />],
      ]}
    />
    <Text className="muted">
      After enrollment the node becomes active. Then run discovery. If the token is lost or expired, use “Re-enroll” on
      the node page.
    </Text>
  </Stack>
);
