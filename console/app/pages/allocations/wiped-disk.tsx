/** One disk of a certificate: the wipe, the read-back and the proof. */
import { certificateText, type WipeCertificate } from '@gpuaas/sdk';
import { bytes } from '../../format/size.ts';
import { Copyable } from '../../ui/copy.tsx';
import { Facts, Section } from '../../ui/page.tsx';
import { ToneBadge } from '../../ui/state-badge.tsx';
import { Exact } from '../../ui/time.tsx';
import { isDiskVerified } from './wipe.ts';

export const WipedDisk = ({ disk, title }: Readonly<{ disk: WipeCertificate['disks'][number]; title: string }>) => {
  const isVerified = isDiskVerified(disk);
  return (
    <Section
      title={title}
      actions={
        <ToneBadge tone={isVerified ? 'good' : 'bad'}>{isVerified ? 'Wiped and verified' : 'Not verified'}</ToneBadge>
      }
    >
      <Facts
        facts={[
          ['Disk', <Copyable key="disk" text={disk.disk} label="disk name" />],
          ['Size', disk.size_bytes === null ? '–' : bytes(disk.size_bytes)],
          ['Before this allocation', certificateText.before(disk)],
          ['Method', certificateText.method(disk)],
          [
            'Read back',
            `${bytes(disk.bytes_read_back)} in ${disk.samples.length} samples, ${disk.bytes_not_erased === 0 ? 'no data left' : `${bytes(disk.bytes_not_erased)} not wiped`}`,
          ],
          ['Expected', certificateText.rule(disk) ?? '–'],
          ['Attempt', disk.attempt ?? '–'],
          ['Started', disk.started_at === null ? '–' : <Exact key="from" at={disk.started_at} />],
          ['Read-back finished', <Exact key="to" at={disk.finished_at} />],
          ['Accepted as proof', <Exact key="proven" at={disk.proven_at} />],
          ['GPU', certificateText.gpu(disk)],
          ['Fabric', certificateText.fabric(disk)],
          ['Proof', <Copyable key="proof" text={disk.wipe_proof_id} label="proof ID" />],
          ['Proof hash', <Copyable key="hash" text={disk.proof_hash} label="proof hash" />],
        ]}
      />
    </Section>
  );
};
