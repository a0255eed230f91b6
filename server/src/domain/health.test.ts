import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { HealthAlert } from '@gpuaas/contract/node';
import { evaluateHealth, type HealthOverride, tripsBreaker } from './health.ts';

const now = new Date('2026-11-15T12:00:00Z');
const GPU = '0000:1b:00.0';
const alert = (over: Partial<HealthAlert> = {}): HealthAlert => ({
  id: 'gpu_off_the_bus',
  target: 'node',
  since: now.toISOString(),
  message: 'It fell off the bus.',
  tenant_message: null,
  classifications: ['prevent_allocations'],
  ...over,
});
const slots = [
  { id: 'slt_a', gpu_pci_address: GPU, nvme_serial: 'S1', fabric_vf_pci_address: '0000:1a:00.1' },
  { id: 'slt_b', gpu_pci_address: '0000:3c:00.0', nvme_serial: 'S2', fabric_vf_pci_address: null },
];
const override = (over: Partial<HealthOverride> = {}): HealthOverride => ({
  source: 'agent',
  mode: 'merge',
  alerts: [],
  muted_alert_ids: [],
  expires_at: null,
  ...over,
});
const judge = (alerts: readonly HealthAlert[], overrides: readonly HealthOverride[] = []) =>
  evaluateHealth({ reports: [{ source: 'agent', alerts: [...alerts] }], overrides, slots, unallocated: [], now });
const healths = (verdict: ReturnType<typeof evaluateHealth>) => [
  verdict.health,
  ...verdict.slots.map(({ health }) => health),
];

describe('evaluation of health reports', () => {
  it('is unknown without a report', () => {
    assert.deepEqual(healths(evaluateHealth({ reports: [], overrides: [], slots, unallocated: [], now })), [
      'unknown',
      'unknown',
      'unknown',
    ]);
  });

  it('is ok when a report has no preventing alert', () => {
    assert.deepEqual(healths(judge([alert({ classifications: ['suppress_alert'] })])), ['ok', 'ok', 'ok']);
  });

  it('makes only the slot unschedulable whose GPU, disk or function the alert names', () => {
    for (const target of [GPU, 'S1', '0000:1a:00.1'])
      assert.deepEqual(healths(judge([alert({ target })])), ['ok', 'unhealthy', 'ok'], target);
  });

  it('makes the node unschedulable for an alert that matches no slot', () => {
    const verdict = judge([
      alert({ target: '0000:83:00.0', classifications: ['prevent_allocations', 'prevent_host_changes'] }),
    ]);
    assert.deepEqual(healths(verdict), ['unhealthy', 'ok', 'ok']);
    assert.deepEqual(verdict.prevents, ['prevent_allocations', 'prevent_host_changes']);
  });

  it('keeps the node schedulable when a part outside all slots is unhealthy', () => {
    const reports = [{ source: 'agent', alerts: [alert({ target: 'S9' })] }];
    const verdict = evaluateHealth({ reports, overrides: [], slots, unallocated: ['S9'], now });
    assert.deepEqual([healths(verdict), verdict.alerts.length], [['ok', 'ok', 'ok'], 1]);
  });

  it('lets an operator mute, add to and replace a source’s alerts', () => {
    assert.equal(judge([alert()], [override({ muted_alert_ids: ['gpu_off_the_bus'] })]).health, 'ok');
    assert.equal(judge([], [override({ alerts: [alert()] })]).health, 'unhealthy');
    assert.deepEqual(judge([alert()], [override({ mode: 'replace' })]).alerts, []);
    assert.equal(judge([], [override({ source: 'operator', alerts: [alert()] })]).health, 'unhealthy');
  });

  it('ignores an override after it expires', () => {
    const over = override({ mode: 'replace', expires_at: now.toISOString() });
    assert.equal(judge([alert()], [over]).health, 'unhealthy');
    const later = override({ mode: 'replace', expires_at: '2026-11-15T12:00:01Z' });
    assert.equal(judge([alert()], [later]).health, 'ok');
  });
});

describe('the circuit breaker', () => {
  it('allows a few hosts to become unhealthy and stops a mass change', () => {
    assert.equal(tripsBreaker(4, 10), false);
    assert.equal(tripsBreaker(5, 10), true);
    assert.equal(tripsBreaker(100, 1_000), false);
    assert.equal(tripsBreaker(101, 1_000), true);
  });
});
