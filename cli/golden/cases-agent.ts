/** Command lines about agents, their certificates and signing keys, and logs. */
import type { Case } from './case.ts';
import { placementIds } from './fixtures-allocation.ts';

const T = '--no-json';
const { node } = placementIds;
const key = 'tky_01k9zv3m8q4t6w2x5y7r0s1n1a';

const line = (name: string, command: string, more: Partial<Case> = {}): Case => ({
  name,
  args: command.split(' '),
  ...more,
});

export const agentCases: readonly Case[] = [
  line(
    'admin-node-create',
    `admin node create j22u15 --region eu-north-1 --gpu-model H200 --gpus 8 --mode slice --serial 4J7XQR3 ${T}`,
  ),
  line('admin-node-enroll', `admin node enroll demo-h200-01 --reason lost ${T}`),
  line('admin-node-rebind', `admin node rebind ${node} --reason mainboard --yes ${T}`),
  line('admin-node-rebind-needs-yes', `admin node rebind ${node} --reason mainboard ${T}`),
  line('admin-node-agent', `admin node agent ${node} ${T}`),
  line('admin-node-revoke', `admin node revoke ${node} --reason stolen --yes ${T}`),
  line('admin-node-revoke-needs-yes', `admin node revoke ${node} --reason stolen ${T}`),
  line(
    'admin-node-update-agent',
    `admin node update-agent ${node} --release 0.2.0 --digest sha256:${'0'.repeat(64)} ${T}`,
  ),
  line('admin-node-retire', `admin node retire ${node} --reason returned --yes ${T}`),
  line('admin-node-retire-needs-yes', `admin node retire ${node} --reason returned ${T}`),
  line('admin-node-delete', `admin node delete ${node} --yes ${T}`),
  line('admin-node-tasks', `admin node tasks ${node} ${T}`),
  line('admin-node-task', `admin node task ${node} tsk_01k9zv3m8q4t6w2x5y7r0s1n3c ${T}`),
  line('admin-platform-key-list', `admin platform-key list ${T}`),
  line('admin-platform-key-rotate', `admin platform-key rotate --reason yearly --yes ${T}`),
  line('admin-platform-key-rotate-needs-yes', `admin platform-key rotate --kind trust --reason yearly ${T}`),
  line('admin-trust-list', `admin trust list ${T}`),
  line('admin-trust-stage', `admin trust stage task_signer --reason yearly ${T}`),
  line('admin-trust-activate', `admin trust activate ${key} --reason yearly ${T}`),
  line('admin-trust-retire', `admin trust retire ${key} --reason yearly --yes ${T}`),
  line('admin-trust-revoke', `admin trust revoke ${key} --reason leaked --yes ${T}`),
  line('logs', `logs --correlation-id c-01k9zv3m ${T}`),
  line('logs-node', `logs --node demo-h200-01 --level warn ${T}`),
  line('logs-which', `logs ${T}`),
];
