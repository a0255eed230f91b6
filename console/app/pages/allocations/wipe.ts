/** The certificate of erasure in words. What it says and whether its signature holds are two things, and both are said. */
import type { CertificateVerdict, WipeCertificate } from '@gpuaas/sdk';
import type { Tone } from '../../format/state.ts';

export type Verdict = CertificateVerdict | 'checking' | Readonly<{ failed: string }>;

export const verdictWords = (verdict: Verdict): Readonly<{ tone: Tone; title: string; detail: string }> => {
  if (verdict === 'checking') return { tone: 'busy', title: 'Checking the signature', detail: 'In this browser.' };
  if ('failed' in verdict)
    return {
      tone: 'warn',
      title: 'The signature could not be checked here',
      detail: `${verdict.failed} The command below checks it as well.`,
    };
  return verdict.is_valid
    ? {
        tone: 'good',
        title: 'The signature holds',
        detail: `This browser checked it against the published key ${verdict.key.key_id}. Nothing in the certificate was changed since it was signed.`,
      }
    : { tone: 'bad', title: 'The certificate does not hold', detail: verdict.reason };
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
  if (gpu_reset === null) return 'No reset is on record.';
  return gpu_reset.is_ok ? `Reset (${gpu_reset.method}).` : 'Not reset; it is kept out of use until it is.';
};

export const fabricWords = ({ fabric_function: fabric }: Disk): string => {
  if (fabric === null) return 'Nothing is on record.';
  return fabric.is_cleared ? `Reset (${fabric.method}).` : 'Not reset; it is kept out of use until it is.';
};

const said = (isGone: boolean): string => (isGone ? 'removed' : 'not shown to be removed');

export const isolationFacts = (
  found: NonNullable<WipeCertificate['isolation']>,
): readonly (readonly [string, string])[] => [
  ['Network port', said(found.is_port_removed)],
  ['Address reservation', said(found.is_reservation_removed)],
  ['Address lease', said(found.is_lease_removed)],
  ['Address translation', said(found.is_translation_removed)],
  ['Machine definition', said(found.is_vm_removed)],
  ['Seed with its keys', said(found.is_seed_removed)],
  ['Fabric partitions', `${found.partitions_deactivated} deactivated`],
];
