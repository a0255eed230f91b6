/** The command that installs an agent on a host, and the token it asks for, which is shown once and expires soon. */

import type { Operations } from '@gpuaas/sdk';
import { Stack, Text } from '@mantine/core';
import { Copyable, CopyBlock } from '../../ui/copy.tsx';
import { Facts } from '../../ui/page.tsx';
import { Until } from '../../ui/time.tsx';
import { HostIdentity } from './host-identity.tsx';

export type Enrollment = Operations['adminNodeEnrollmentCreate']['response'];

export const EnrollmentCommand = ({ enrollment }: Readonly<{ enrollment: Enrollment }>) => (
  <Stack gap="sm">
    <Text>
      Copy the agent files (<span className="mono">install.sh</span>, <span className="mono">launch.sh</span>,{' '}
      <span className="mono">gpuaas-node-agent.mjs</span> and its <span className="mono">.service</span>) to the host
      and run this command in the same directory as root.
    </Text>
    <CopyBlock text={enrollment.install_command} label="install command" />
    <Text>
      Enter this token when the command asks for it. It is shown only once and works once. It expires{' '}
      <Until at={enrollment.expires_at} />.
    </Text>
    <CopyBlock text={enrollment.token} label="enrollment token" />
    <Facts
      facts={[
        ['Host', <HostIdentity key="host" host={enrollment.host} />],
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
      For a script, put the token into a file with mode 0600 and use <span className="mono">--token-file FILE</span>.
      After enrollment the node becomes active. Then run discovery. If the token is lost or expired, use “Re-enroll” on
      the node page.
    </Text>
  </Stack>
);
