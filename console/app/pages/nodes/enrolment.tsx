/** The command that brings an agent onto a host. It carries a secret that is shown once and soon stops working. */

import type { Operations } from '@gpuaas/sdk';
import { Stack, Text } from '@mantine/core';
import { Copyable, CopyBlock } from '../../ui/copy.tsx';
import { Facts } from '../../ui/page.tsx';
import { Until } from '../../ui/time.tsx';

export type Enrolment = Operations['adminNodeEnrollmentCreate']['response'];

export const EnrolmentShown = ({ enrolment }: Readonly<{ enrolment: Enrolment }>) => (
  <Stack gap="sm">
    <Text>
      Bring the agent’s files (<span className="mono">install.sh</span>, <span className="mono">launch.sh</span>,{' '}
      <span className="mono">gpuaas-node-agent.mjs</span> and its <span className="mono">.service</span>) to the host,
      and run this beside them as root. The token in it is shown only now and works once; it ends{' '}
      <Until at={enrolment.expires_at} />.
    </Text>
    <CopyBlock text={enrolment.install_command} label="install command" />
    <Facts
      facts={[
        [
          'Node API',
          <span key="url" className="mono">
            {enrolment.node_api_url}
          </span>,
        ],
        ['CA fingerprint', <Copyable key="ca" text={enrolment.ca_sha256} label="fingerprint" />],
      ]}
    />
    <Text className="muted">
      When the agent has enrolled, the node becomes active and can be discovered. If the token is lost or too old, use
      “Enrol again” on the page of the node.
    </Text>
  </Stack>
);
