/** The certificate of erasure in words. What it says and whether its signature holds are two things, and both are said. */
import type { CertificateVerdict, WipeCertificate } from '@gpuaas/sdk';
import type { Tone } from '../../format/state.ts';

export type Verdict = CertificateVerdict | 'checking' | Readonly<{ failed: string }>;

export const verdictWords = (verdict: Verdict): Readonly<{ tone: Tone; title: string; detail: string }> => {
  if (verdict === 'checking') return { tone: 'busy', title: 'Verifying signature', detail: 'In this browser.' };
  if ('failed' in verdict)
    return {
      tone: 'warn',
      title: 'Signature not verified',
      detail: `${verdict.failed} Use the command below to verify it.`,
    };
  return verdict.is_valid
    ? {
        tone: 'good',
        title: 'Signature valid',
        detail: `Verified in this browser with the published key ${verdict.key.key_id}. The certificate is unchanged since it was signed.`,
      }
    : { tone: 'bad', title: 'Certificate not valid', detail: verdict.reason };
};

type Disk = WipeCertificate['disks'][number];

const ERASES: Readonly<Record<NonNullable<Disk['erase']>, string>> = {
  crypto: 'cryptographic erase',
  block: 'block erase',
  discard: 'discard',
};

export const methodWords = ({ method, erase, level }: Disk): string =>
  [method, erase === null ? null : ERASES[erase], level === null ? null : `NIST ${level}`]
    .filter((part) => part !== null)
    .join(', ');

/** A disk is verified when something was read back and none of it was left. */
export const isDiskVerified = ({ bytes_read_back, bytes_not_erased, command_status }: Disk): boolean =>
  bytes_read_back > 0 && bytes_not_erased === 0 && (command_status === null || command_status === 0);

export const gpuWords = ({ gpu_reset }: Disk): string => {
  if (gpu_reset === null) return 'No reset recorded.';
  return gpu_reset.is_ok ? `Reset (${gpu_reset.method}).` : 'Not reset. Unschedulable until reset.';
};

export const fabricWords = ({ fabric_function: fabric }: Disk): string => {
  if (fabric === null) return 'Nothing recorded.';
  return fabric.is_cleared ? `Reset (${fabric.method}).` : 'Not reset. Unschedulable until reset.';
};

const said = (isGone: boolean): string => (isGone ? 'removed' : 'removal not verified');

export const isolationFacts = (
  found: NonNullable<WipeCertificate['isolation']>,
): readonly (readonly [string, string])[] => [
  ['Network port', said(found.is_port_removed)],
  ['DHCP reservation', said(found.is_reservation_removed)],
  ['DHCP lease', said(found.is_lease_removed)],
  ['NAT rules', said(found.is_translation_removed)],
  ['VM definition', said(found.is_vm_removed)],
  ['Cloud-init seed with SSH keys', said(found.is_seed_removed)],
  ['Fabric partitions', `${found.partitions_deactivated} deactivated`],
];
