/**
 * The wipe certificate of its disks. The browser verifies its signature with the published keys; what is shown is what
 * was verified.
 */

import {
  type Allocation,
  certificateText,
  type SignedWipeCertificate,
  verifyWipeCertificate,
  type WipeCertificateKey,
} from '@gpuaas/sdk';
import { Button, Stack, Text } from '@mantine/core';
import { IconDownload } from '@tabler/icons-react';
import { useEffect, useState } from 'react';
import { useAll, useRead } from '../../api/read.ts';
import { download } from '../../format/download.ts';
import { command } from '../../format/shell.ts';
import { Copyable, CopyBlock } from '../../ui/copy.tsx';
import { ErrorPanel } from '../../ui/error-panel.tsx';
import { Loading } from '../../ui/loading.tsx';
import { Facts, Section } from '../../ui/page.tsx';
import { TONE_ICONS } from '../../ui/state-badge.tsx';
import { Exact } from '../../ui/time.tsx';
import { isolationFacts, type Verdict, verdictWords } from './wipe.ts';
import { WipedDisk } from './wiped-disk.tsx';

const useVerdict = (signed: SignedWipeCertificate, keys: readonly WipeCertificateKey[] | undefined): Verdict => {
  const [verdict, setVerdict] = useState<Verdict>('checking');
  useEffect(() => {
    let isGone = false;
    const say = (found: Verdict) => {
      if (!isGone) setVerdict(found);
    };
    if (keys !== undefined)
      verifyWipeCertificate(signed, keys).then(say, () =>
        say({ failed: 'This browser does not support Ed25519, or the page was not loaded over HTTPS.' }),
      );
    return () => {
      isGone = true;
    };
  }, [signed, keys]);
  return verdict;
};

const VerdictPanel = ({ verdict }: Readonly<{ verdict: Verdict }>) => {
  const { tone, title, detail } = verdictWords(verdict);
  const Icon = TONE_ICONS[tone];
  return (
    <section className="panel" data-tone={tone} role="status" aria-label="Verification result">
      <div className="al-panel-line">
        <Icon size={18} aria-hidden />
        <div>
          <Text fw={600} inherit>
            {title}
          </Text>
          <div className="panel-body">{detail}</div>
        </div>
      </div>
    </section>
  );
};

const Certificate = ({ signed }: Readonly<{ signed: SignedWipeCertificate }>) => {
  const keys = useAll('wipeCertificateKeyList', {});
  const verdict = useVerdict(signed, keys.data);
  const { certificate, signature } = signed;
  const { allocation: of, disks, isolation } = certificate;
  const unwiped = certificateText.unwiped(certificate);
  const name = `wipe-certificate-${of.name}-${of.id}.json`;
  return (
    <Stack gap="md">
      {keys.error !== null ? (
        <ErrorPanel error={keys.error} onRetry={() => void keys.refetch()} />
      ) : (
        <VerdictPanel verdict={verdict} />
      )}
      <Section
        title="Wipe certificate"
        actions={
          <Button
            size="xs"
            variant="default"
            leftSection={<IconDownload size={15} aria-hidden />}
            onClick={() => download(name, `${JSON.stringify(signed, null, 2)}\n`)}
          >
            Download JSON
          </Button>
        }
      >
        <Stack gap="sm">
          <Facts
            facts={[
              ['Issued by', certificate.issuer],
              ['Wipe verified', of.released_at === null ? '–' : <Exact key="at" at={of.released_at} />],
              ['Wipe level', certificate.wipe_minimum === null ? '–' : `NIST SP 800-88 ${certificate.wipe_minimum}`],
              ['Disks', String(disks.length)],
              ...(unwiped === null ? [] : [['Disks not wiped', unwiped] as const]),
              ['Signing key', <Copyable key="key" text={signature.key_id} label="key ID" />],
            ]}
          />
          <Text size="sm">Anyone with the file can verify it with the published keys:</Text>
          <CopyBlock
            text={command(
              ['allocation', 'wipe-certificate', of.id],
              [
                ['file', name],
                ['verify', true],
              ],
            )}
            label="verify command"
          />
        </Stack>
      </Section>
      {disks.map((disk, index) => (
        <WipedDisk key={disk.wipe_proof_id} disk={disk} title={`Disk ${index + 1} of ${disks.length}`} />
      ))}
      {isolation !== null && (
        <Section title="Also removed">
          <Facts facts={isolationFacts(isolation)} />
        </Section>
      )}
    </Stack>
  );
};

export const WipeTab = ({ allocation }: Readonly<{ allocation: Allocation }>) => {
  const params = { project_id: allocation.project_id, allocation_id: allocation.id };
  const found = useRead('allocationWipeCertificateGet', { params });
  if (found.data !== undefined) return <Certificate signed={found.data} />;
  if (found.error === null) return <Loading rows={5} label="Loading wipe certificate" />;
  if (found.error.code !== 'conflict') return <ErrorPanel error={found.error} onRetry={() => void found.refetch()} />;
  return (
    <Section title="Wipe certificate">
      <Text size="sm">Not available yet. {found.error.detail}</Text>
    </Section>
  );
};
