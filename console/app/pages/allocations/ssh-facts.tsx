/** The SSH host key and its fingerprint, so that the first connection can be verified. */
import type { Allocation } from '@gpuaas/sdk';
import { useEffect, useState } from 'react';
import { Copyable, CopyBlock } from '../../ui/copy.tsx';
import { Facts } from '../../ui/page.tsx';
import { hostKeyFingerprint } from './connect.ts';

const useFingerprint = (hostKey: string | null): string | null | undefined => {
  const [found, setFound] = useState<{ of: string | null; value: string | null } | null>(null);
  useEffect(() => {
    let isGone = false;
    if (hostKey !== null)
      void hostKeyFingerprint(hostKey).then((value) => {
        if (!isGone) setFound({ of: hostKey, value });
      });
    return () => {
      isGone = true;
    };
  }, [hostKey]);
  return found?.of === hostKey ? found?.value : undefined;
};

export const SshFacts = ({ ssh }: Readonly<{ ssh: Allocation['ssh'] }>) => {
  const fingerprint = useFingerprint(ssh?.host_key ?? null);
  if (ssh === null)
    return (
      <p className="muted">The VM has not reported an SSH host key yet, so SSH is not available. Use the terminal.</p>
    );
  return (
    <div>
      <h3 className="al-sub">SSH endpoint</h3>
      <Facts
        facts={[
          ['User', <Copyable key="user" text={ssh.username} label="user name" />],
          [
            'Address',
            ssh.address === null ? (
              'through the gateway'
            ) : (
              <Copyable key="address" text={`${ssh.address}:${ssh.port}`} label="address" />
            ),
          ],
          [
            'Fingerprint',
            fingerprint === undefined ? (
              '…'
            ) : fingerprint === null ? (
              'Not available in this browser. Use ssh-keygen -lf.'
            ) : (
              <Copyable key="fingerprint" text={fingerprint} label="fingerprint" />
            ),
          ],
        ]}
      />
      <h3 className="al-sub">Host key</h3>
      <CopyBlock text={ssh.host_key} label="host key" />
    </div>
  );
};
