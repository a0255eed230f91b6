/** The wipe certificate in words. Its content and the validity of its signature are shown apart. */
import { type CertificateVerdict, certificateText, type WipeCertificate } from '@gpuaas/sdk';
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

/** A disk is verified when something was read back and none of it was left; never by an override. */
export const isDiskVerified = ({ outcome, bytes_read_back, bytes_not_erased, command_status }: Disk): boolean =>
  outcome === 'verified' &&
  bytes_read_back > 0 &&
  bytes_not_erased === 0 &&
  (command_status === null || command_status === 0);

const capital = (label: string): string => label.charAt(0).toUpperCase() + label.slice(1);

export const isolationFacts = (
  found: NonNullable<WipeCertificate['isolation']>,
): readonly (readonly [string, string])[] =>
  Object.entries(certificateText.isolation(found)).map(([label, text]) => [capital(label), text]);
