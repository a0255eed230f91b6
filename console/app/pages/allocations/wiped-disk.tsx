/** One disk of a certificate: how it was erased, what was read back, and the proof. */
import type { WipeCertificate } from '@gpuaas/sdk';
import { bytes } from '../../format/size.ts';
import { Copyable } from '../../ui/copy.tsx';
import { Facts, Section } from '../../ui/page.tsx';
import { ToneBadge } from '../../ui/state-badge.tsx';
import { Exact } from '../../ui/time.tsx';
import { fabricWords, gpuWords, isDiskVerified, methodWords } from './wipe.ts';

export const WipedDisk = ({ disk, title }: Readonly<{ disk: WipeCertificate['disks'][number]; title: string }>) => {
  const isVerified = isDiskVerified(disk);
  return (
    <Section
      title={title}
      actions={
        <ToneBadge tone={isVerified ? 'good' : 'bad'}>{isVerified ? 'Read back, erased' : 'Not proven'}</ToneBadge>
      }
    >
      <Facts
        facts={[
          ['Disk', <Copyable key="disk" text={disk.disk} label="name of the disk" />],
          ['Size', disk.size_bytes === null ? '–' : bytes(disk.size_bytes)],
          ['Method', methodWords(disk)],
          [
            'Read back',
            `${bytes(disk.bytes_read_back)} in ${disk.samples.length} samples, ${disk.bytes_not_erased === 0 ? 'nothing left' : `${bytes(disk.bytes_not_erased)} not erased`}`,
          ],
          ['Expected', disk.rule === 'changed' ? 'noise that was not there before' : (disk.rule ?? '–')],
          ['Attempt', disk.attempt ?? '–'],
          ['Began', disk.started_at === null ? '–' : <Exact key="from" at={disk.started_at} />],
          ['Read back until', <Exact key="to" at={disk.finished_at} />],
          ['Taken for proof', <Exact key="proven" at={disk.proven_at} />],
          ['GPU', gpuWords(disk)],
          ['Fabric', fabricWords(disk)],
          ['Proof', <Copyable key="proof" text={disk.wipe_proof_id} label="proof id" />],
          ['Proof hash', <Copyable key="hash" text={disk.proof_hash} label="proof hash" />],
        ]}
      />
    </Section>
  );
};
