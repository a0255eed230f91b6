import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { assertReached } from '../../../tools/test/reached.ts';
import {
  describeHost,
  type HostIdentity,
  hostMismatch,
  knownFields,
  learnHost,
  normalizeHost,
  unusableField,
  withoutMachineId,
} from './host-identity.ts';

const host = (over: Partial<HostIdentity> = {}): HostIdentity => ({
  product_serial: null,
  product_uuid: null,
  machine_id: null,
  ...over,
});
const SERIAL = '4J7XQR3';
const UUID = '4c4c4544-004a-3710-8058-b4c04f515233';
const MACHINE = '6f2b7f2a90c24a1c8a531f6d5d6a7c11';
const WHOLE = host({ product_serial: SERIAL, product_uuid: UUID, machine_id: MACHINE });

const hex = (length: number) =>
  fc.string({ unit: fc.constantFrom(...'0123456789abcdef'), minLength: length, maxLength: length });
const uuids = fc.tuple(hex(8), hex(4), hex(4), hex(4), hex(12)).map((parts) => parts.join('-'));
const texts = fc.oneof(fc.string({ maxLength: 140 }), hex(32), uuids, fc.constantFrom('None', 'Default string', 'x'));
const raws = fc.record({ product_serial: texts, product_uuid: texts, machine_id: texts });

describe('the identity of a host', () => {
  it('is the same after any number of readings, whatever the case and the space around it', () => {
    const counts = { of_one_case: 0 };
    fc.assert(
      fc.property(raws, (raw) => {
        const once = normalizeHost(raw);
        assert.deepEqual(normalizeHost(once), once);
        const loud = Object.fromEntries(Object.entries(raw).map(([key, value]) => [key, ` ${value.toUpperCase()}\n`]));
        const quiet = Object.fromEntries(Object.entries(raw).map(([key, value]) => [key, value.toLowerCase()]));
        // Letters such as ß have no single case; an identity has none of them.
        if (!Object.values(raw).every((value) => /^[ -~]*$/.test(value))) return;
        counts.of_one_case++;
        assert.deepEqual(normalizeHost(loud), normalizeHost(quiet));
      }),
    );
    assertReached(counts);
  });

  it('is no placeholder of a vendor', () => {
    const serials = ['To Be Filled By O.E.M.', 'Default string', 'None', ' ', '', '0', '00000000', 'XXXXXXX', 'N/A'];
    serials.push('Not Specified', 'System Serial Number', '0123456789', '....', 'FFFFFFFF', '1234567890', 'ab\u0007cd');
    serials.push('TBD', 'CHANGEME', 'Not Settable', 'Standard', '1234567', 'ABCDEFGH', 'Type2 - Board Serial Number');
    for (const product_serial of serials)
      assert.deepEqual(normalizeHost({ product_serial }), host(), JSON.stringify(product_serial));
    const ids = ['00000000-0000-0000-0000-000000000000', 'ffffffff-ffff-ffff-ffff-ffffffffffff', 'Not Settable', ''];
    ids.push('03000200-0400-0500-0006-000700080009', '12345678-1234-5678-90AB-CDDEEFAABBCC', 'None');
    for (const product_uuid of ids) assert.deepEqual(normalizeHost({ product_uuid }), host(), product_uuid);
    for (const machine_id of ['uninitialized', '0'.repeat(32), '', 'b08dfa6083e7567a1921a715000001f'])
      assert.deepEqual(normalizeHost({ machine_id }), host(), machine_id);
    assert.deepEqual(
      normalizeHost({
        product_serial: ` ${SERIAL.toLowerCase()} `,
        product_uuid: UUID.toUpperCase(),
        machine_id: MACHINE,
      }),
      WHOLE,
    );
    assert.deepEqual(unusableField({ product_serial: SERIAL, product_uuid: 'none' }), {
      field: 'product_uuid',
      name: 'system UUID',
    });
    assert.equal(unusableField({ product_serial: SERIAL }), undefined);
    assert.equal(
      describeHost(host({ product_serial: SERIAL, machine_id: MACHINE })),
      `serial number ${SERIAL}, machine ID ${MACHINE}`,
    );
  });

  it('matches itself, and no refusal shows an expected value', () => {
    const counts = { known: 0, refused: 0 };
    fc.assert(
      fc.property(raws, raws, fc.subarray(['product_serial', 'product_uuid', 'machine_id'] as const), (a, b, some) => {
        const [mine, other] = [normalizeHost(a), normalizeHost(b)];
        const named = some.filter((field) => mine[field] !== null);
        if (knownFields(mine).length === 0) return;
        counts.known++;
        assert.equal(hostMismatch({ host: mine, named }, mine), null);
        const sentence = hostMismatch({ host: mine, named }, other)?.sentence ?? '';
        if (sentence !== '') counts.refused++;
        for (const field of knownFields(mine)) assert.ok(!sentence.includes(mine[field] ?? '-'), sentence);
      }),
    );
    assertReached(counts);
  });

  it('differs by what was named, by the board, and by the machine ID where no board is known', () => {
    const differs = (expected: HostIdentity, named: ('product_serial' | 'machine_id')[], reported: HostIdentity) =>
      hostMismatch({ host: expected, named }, reported)?.sentence ?? null;
    const otherMachine = { ...WHOLE, machine_id: 'a'.repeat(16) + '0123456789abcdef' };
    assert.equal(differs(WHOLE, [], otherMachine), null, 'an operating system that was installed again');
    assert.match(
      differs(WHOLE, ['machine_id'], otherMachine) ?? '',
      /machine ID .* not the one that the operator named/,
    );
    assert.match(
      differs(WHOLE, ['product_serial'], { ...WHOLE, product_serial: null }) ?? '',
      /reports no usable serial/,
    );
    assert.match(differs(WHOLE, [], { ...WHOLE, product_serial: 'OTHER1' }) ?? '', /serial number .* bound to/);
    assert.match(
      differs(WHOLE, [], { ...WHOLE, product_uuid: UUID.replace('4c', '5d') }) ?? '',
      /system UUID .* bound/,
    );
    // A cloned system disk has the machine ID; the board it runs on then has no usable value, or another one.
    assert.match(differs(WHOLE, [], host({ machine_id: MACHINE })) ?? '', /no serial number or system UUID .* bound/);
    assert.match(
      differs(
        host({ product_serial: SERIAL, machine_id: MACHINE }),
        [],
        host({ product_uuid: UUID, machine_id: MACHINE }),
      ) ?? '',
      /no serial number or system UUID .* bound/,
    );
    const byMachine = host({ machine_id: MACHINE });
    assert.match(differs(byMachine, [], host({ machine_id: otherMachine.machine_id })) ?? '', /machine ID .* bound to/);
    assert.match(
      differs(byMachine, [], host({ product_serial: SERIAL })) ?? '',
      /no identity that the node is bound to/,
    );
    assert.match(differs(WHOLE, [], host()) ?? '', /systemd-machine-id-setup/);
  });

  it('learns what was unknown and keeps the board it had', () => {
    const learned = learnHost(host({ product_serial: SERIAL }), { ...WHOLE, product_serial: null });
    assert.deepEqual(learned, WHOLE);
    assert.deepEqual(learnHost(WHOLE, host()), WHOLE);
    assert.deepEqual(learnHost(host({ machine_id: MACHINE }), WHOLE), WHOLE);
    assert.deepEqual(withoutMachineId(WHOLE), { ...WHOLE, machine_id: null });
    assert.equal(withoutMachineId(host({ machine_id: MACHINE })), null);
  });
});
