/** Command lines about disk wipes: certificates for tenants, proofs and minimum levels for operators. */
import { Refusal } from './api.ts';
import type { Case } from './case.ts';
import { answers } from './fixtures.ts';
import { placementIds } from './fixtures-allocation.ts';
import { certificateAnswers, keys, signed } from './fixtures-certificate.ts';

const T = '--no-json';
const { allocation, node } = placementIds;

const line = (name: string, command: string, more: Partial<Case> = {}): Case => ({
  name,
  args: command.split(' '),
  ...more,
});

const kept = (certificate: object): string => JSON.stringify({ ...signed, certificate });
const edited = { ...signed.certificate, allocation: { ...signed.certificate.allocation, gpu_count: 8 } };

export const certificateCases: readonly Case[] = [
  line('allocation-wipe-certificate', `allocation wipe-certificate ${allocation} ${T}`),
  line('allocation-wipe-certificate-baremetal', `allocation wipe-certificate train --file a.json ${T}`, {
    files: { 'a.json': kept({ ...signed.certificate, unwiped_disks: 1, isolation: null }) },
  }),
  line('allocation-wipe-certificate-json', `allocation wipe-certificate ${allocation} --verify`),
  line('allocation-wipe-certificate-output', `allocation wipe-certificate ${allocation} --verify -o out.json ${T}`),
  line(
    'allocation-wipe-certificate-file',
    `allocation wipe-certificate train --file a.json --keys k.json --verify ${T}`,
    {
      files: { 'a.json': kept(signed.certificate), 'k.json': JSON.stringify(keys) },
    },
  ),
  line('allocation-wipe-certificate-edited', `allocation wipe-certificate train --file a.json --verify ${T}`, {
    files: { 'a.json': kept(edited) },
  }),
  line('allocation-wipe-certificate-revoked', `allocation wipe-certificate ${allocation} --verify ${T}`, {
    answers: {
      wipeCertificateKeyList: { ...keys, items: keys.items.map((key) => ({ ...key, state: 'revoked' as const })) },
    },
  }),
  line('allocation-wipe-certificate-other', `allocation wipe-certificate eval --file a.json ${T}`, {
    files: { 'a.json': kept(signed.certificate) },
  }),
  line('allocation-wipe-certificate-none', `allocation wipe-certificate ${allocation} ${T}`, {
    answers: {
      allocationWipeCertificateGet: new Refusal(
        409,
        'conflict',
        'The disks are being wiped. The certificate is available after the release.',
      ),
    },
  }),
  line('admin-slot-proofs', `admin slot proofs ${node} 0 ${T}`),
  line('admin-wipe-proof-verify', `admin wipe-proof verify ${T}`),
  line('admin-wipe-proof-verify-touched', `admin wipe-proof verify ${T}`, {
    answers: {
      adminWipeProofVerify: {
        ...certificateAnswers.adminWipeProofVerify,
        intact: false,
        findings: [
          {
            kind: 'edited',
            target_id: 'slt_01k9zv3m8q4t6w2x5y7r0s1n1a',
            sequence: 41,
            wipe_proof_id: 'wpf_01k9zv3m8q4t6w2x5y7r0s1n1a',
            detail: 'The proof does not match its hash.',
          },
        ],
      },
    },
  }),
  line('admin-region-update-minimum', `admin region update eu-north-1 --wipe-minimum purge ${T}`, {
    answers: { adminRegionUpdate: { ...answers.adminRegionUpdate, enabled: true, disabled_reason: null } },
  }),
];
