import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { readFixture, requiresFixture } from '../../test/fixtures.ts';
import { xidKind } from '../host/linux/gpu/nvidia-xid.ts';
import { checkLog } from './gpu-log-check.ts';
import { addressOf, gpuEvents } from './kernel-log.ts';

const BOOTED = new Date('2026-01-01T00:00:00Z');
const only = (line: string) => {
  const events = gpuEvents([line], BOOTED);
  assert.equal(events.length, 1, line);
  return events[0];
};

describe('the kernel log', () => {
  test('is parsed for Xid, GPU and time in every log format', () => {
    const text = 'NVRM: Xid (PCI:0000:9b:00): 119, pid=2024380, name=nvidia-smi, Timeout after 6s';
    const forms: ReadonlyArray<readonly [line: string, at: string | undefined]> = [
      [`[  90.500000] ${text}`, '2026-01-01T00:01:30.500Z'],
      [`4,3964,90500000,-;${text}`, '2026-01-01T00:01:30.500Z'],
      [`[Sun Feb 23 16:24:18 2025] ${text}`, '2025-02-23T16:24:18.000Z'],
      [`2025-02-23T16:24:18,500000+00:00 host kernel: ${text}`, '2025-02-23T16:24:18.500Z'],
      [text, undefined],
    ];
    for (const [line, at] of forms) {
      const event = only(line);
      assert.deepEqual([event?.xid, event?.pci_address, event?.at?.toISOString()], [119, '0000:9b:00.0', at], line);
    }
  });

  test('is parsed with addresses without prefix, with function, and with short and long domains', () => {
    assert.equal(only('NVRM: Xid (0000:03:00): 14, Channel 00000001')?.pci_address, '0000:03:00.0');
    assert.equal(only('NVRM: Xid (PCI:0018:01:00): 149, NETIR Fatal')?.pci_address, '0018:01:00.0');
    assert.equal(addressOf('00000000:9B:00.0'), '0000:9b:00.0');
    assert.equal(addressOf('10000:01:00'), '10000:01:00.0');
  });

  test('shows a GPU that fell off the bus without an Xid, on one line or over several', () => {
    for (const lines of [
      ['NVRM: GPU 0000:9b:00.0: GPU has fallen off the bus.'],
      ['NVRM: GPU at PCI:0000:9b:00: GPU has fallen off the bus.'],
      ['NVRM: The NVIDIA GPU 0000:9b:00.0 (PCI ID: 10de:2335) installed in this system has fallen off the bus'],
      [
        'NVRM: The NVIDIA GPU 0000:9b:00.0',
        'NVRM: (PCI ID: 10de:2335)',
        'NVRM: installed in this system has',
        'NVRM: fallen off the bus and is not responding to commands.',
      ],
      ['amdgpu 0000:9b:00.0: amdgpu: device lost from bus!'],
    ]) {
      const events = gpuEvents(lines, BOOTED);
      assert.deepEqual(
        events.map((event) => [event.xid, event.pci_address, event.kind]),
        [[null, '0000:9b:00.0', 'broken']],
        lines[0],
      );
    }
  });

  test('does not match lines that only look similar', () => {
    assert.deepEqual(
      gpuEvents(
        [
          'nvidia-nvswitch2: open (major=510)',
          'usb 1-1: fallen off the bus',
          'Xid (PCI:0000:9b:00): 79',
          'NVRM: loading',
        ],
        BOOTED,
      ),
      [],
    );
  });
});

describe('the classification of an Xid', () => {
  test('prevents allocations for hardware errors, not for program errors and noise', () => {
    const prevents = (line: string): readonly string[] =>
      checkLog([line], BOOTED).found[0]?.classifications ?? ['none'];
    for (const code of [48, 62, 64, 74, 79, 95, 109, 119, 120, 136, 140, 143, 158])
      assert.deepEqual(prevents(`NVRM: Xid (PCI:0000:9b:00): ${code}, x`), ['prevent_allocations'], String(code));
    for (const code of [13, 31, 94, 63, 92])
      assert.deepEqual(prevents(`NVRM: Xid (PCI:0000:9b:00): ${code}, x`), ['suppress_alert'], String(code));
    assert.deepEqual(prevents('NVRM: Xid (PCI:0000:9b:00): 999, x'), [], 'unknown is shown');
    assert.deepEqual(prevents('NVRM: Xid (PCI:0000:9b:00): 145, RLW Nonfatal XC1'), []);
    assert.deepEqual(prevents('NVRM: Xid (PCI:0000:9b:00): 149, NETIR Fatal XC0'), ['prevent_allocations']);
  });

  test('shows tenants only errors of their own program, without addresses', () => {
    const found = checkLog(['NVRM: Xid (PCI:0000:9b:00): 31, pid=7, name=python, MMU Fault'], BOOTED).found[0];
    assert.match(found?.tenant_message ?? '', /A program in this allocation/);
    assert.doesNotMatch(found?.tenant_message ?? '', /9b/);
  });

  test('follows the latest recovery action that the driver requested', () => {
    const to = (action: string) =>
      `NVRM: Xid (PCI:0000:9b:00): 154, GPU recovery action changed from 0x0 (None) to ${action}`;
    const judged = (...lines: string[]) => checkLog(lines, BOOTED).found.map((found) => found.classifications);
    assert.deepEqual(judged(to('0x4 (Drain and Reset)')), [['prevent_allocations']]);
    assert.deepEqual(judged(to('0x4 (Drain and Reset)'), to('0x0 (None)')), [['suppress_alert']]);
  });

  test('gives one alert for a hundred repetitions', () => {
    const line = 'NVRM: Xid (PCI:0000:9b:00): 119, x';
    const { found } = checkLog(
      Array.from({ length: 100 }, () => line),
      BOOTED,
    );
    assert.equal(found.length, 1);
    assert.match(found[0]?.message ?? '', /100 times/);
  });

  test('gives one alert for Xid 79 and the line without Xid', () => {
    const { found } = checkLog(
      [
        'NVRM: Xid (PCI:0000:9b:00): 79, GPU has fallen off the bus.',
        'NVRM: GPU 0000:9b:00.0: GPU has fallen off the bus.',
      ],
      BOOTED,
    );
    assert.deepEqual(
      found.map((each) => each.id),
      ['gpu_off_the_bus'],
    );
  });
});

describe('recorded logs', { skip: requiresFixture('topology/gpud/xid') }, () => {
  const read = (path: string) => readFixture(`topology/${path}`);

  test('of a host whose GPU lost its firmware report that GPU and Xid 119', () => {
    const { found } = checkLog(read('gpud/xid/dmesg-with-xid-119.log').split('\n'), null);
    assert.deepEqual(
      found.map((each) => [each.id, each.target, each.classifications]),
      [['gpu_xid_119', '0000:9b:00.0', ['prevent_allocations']]],
    );
    assert.match(found[0]?.message ?? '', /5 times/);
  });

  test('without GPU events report none', () => {
    for (const name of ['kmsg.1.log', 'kmsg.2.peermem.log'])
      assert.deepEqual(checkLog(read(`gpud/xid/${name}`).split('\n'), null).found, []);
  });

  test('of NVLink errors report one alert per GPU and Xid', () => {
    const { found } = checkLog(read('xid-issues/gb200-nvlink5-xid-lines.txt').split('\n'), null);
    assert.deepEqual([...new Set(found.map((each) => each.id))].toSorted(), [
      'gpu_xid_145',
      'gpu_xid_149',
      'gpu_xid_154',
    ]);
    assert.ok(
      found
        .filter((each) => each.id === 'gpu_xid_149')
        .some((each) => each.classifications.includes('prevent_allocations')),
    );
  });

  test('every entry is classified by the immediate action in the Xid catalog', () => {
    const { entries } = JSON.parse(read('gpud/xid/xid-catalog.json')) as {
      entries: { code: number; immediate: string }[];
    };
    const KINDS: Readonly<Record<string, string>> = {
      RESET_GPU: 'broken',
      RESTART_BM: 'broken',
      WORKFLOW_XID_48: 'broken',
      WORKFLOW_NVLINK_ERR: 'broken',
      WORKFLOW_NVLINK5_ERR: 'link',
      XID_154: 'recovery',
      RESTART_APP: 'program',
      IGNORE: 'noise',
      WORKFLOW_XID_45: 'noise',
    };
    for (const { code, immediate } of entries)
      assert.equal(xidKind(code), KINDS[immediate] ?? 'unsettled', `Xid ${code}`);
  });
});
