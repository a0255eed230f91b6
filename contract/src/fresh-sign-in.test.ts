/**
 * Every change by an operator requires a fresh sign-in, or gives its reason here for not requiring one. A new operator
 * change does not compile before it does either.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { errorsOf } from './emit/errors-of.ts';
import { api, type Operation, type OperationId, type PublicApi } from './index.ts';

type OperatorChange = {
  [K in OperationId]: PublicApi[K] extends { access: 'platform'; audit: string } ? K : never;
}[OperationId];
type Fresh = { [K in OperationId]: PublicApi[K] extends { freshSignIn: true } ? K : never }[OperationId];

const NOT_REQUIRED: Readonly<Record<Exclude<OperatorChange, Fresh>, string>> = {
  adminBackupRecord: 'An unattended job records its backups, and a record gives no access to anything.',
  adminClaimBackfill: 'It reserves nodes for allocations that already hold them, and frees none.',
  adminHealthBreakerReset: 'Reports mark hosts unhealthy again, which only removes capacity.',
  adminHoldCreate: 'A hold ends with one request and touches no allocation.',
  adminNodeConvert: 'Only a node without claims is converted, and it can be converted back.',
  adminNodeDiscoveryCreate: 'Discovery proposes candidates; they serve tenants only after approval.',
  adminNodeDiskRevoke: 'It withdraws an approval before the wipe starts.',
  adminNodeDrain: 'A drain ends with one request, and running allocations are untouched.',
  adminNodeHealthProbe: 'It measures and changes nothing.',
  adminNodeHold: 'A hold ends with one request and touches no allocation.',
  adminNodeImageEvict: 'The host downloads the image again when it is needed.',
  adminNodeImagePull: 'Only a registered image is downloaded, and its digest is verified.',
  adminNodeImageVerify: 'It removes only an image whose digest is wrong.',
  adminNodeSlotDisable: 'A disabled slot can be enabled again, and a running allocation is untouched.',
  adminNodeSlotQuarantine: 'It takes a free slot out of service until it is repaired.',
};

const operations: readonly (readonly [string, Operation])[] = Object.entries(api);

test('an operator change requires a fresh sign-in or states why not', () => {
  const undecided = operations.filter(
    ([id, { access, audit, freshSignIn }]) =>
      access === 'platform' && audit !== null && (freshSignIn === true) === Object.hasOwn(NOT_REQUIRED, id),
  );
  assert.deepEqual(
    undecided.map(([id]) => id),
    [],
  );
  for (const [id, reason] of Object.entries(NOT_REQUIRED)) assert.match(reason, /^[A-Z].{15,100}\.$/, id);
});

test('only operator changes and new API tokens require a fresh sign-in, and their reference names the refusal', () => {
  for (const [id, operation] of operations) {
    const { access, audit, freshSignIn } = operation;
    assert.equal(errorsOf(operation).includes('fresh_sign_in_required'), freshSignIn === true, id);
    if (!freshSignIn) continue;
    assert.ok(audit !== null && (access === 'platform' || id === 'apiTokenCreate'), id);
  }
  assert.equal(api.apiTokenCreate.freshSignIn, true);
});
