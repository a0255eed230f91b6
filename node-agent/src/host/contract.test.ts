/** Every case of the host contract runs somewhere: on the Linux code it is about, and on a simulated host. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { composedHost } from '../../test/composed-subject.ts';
import { fabricHost } from '../../test/fabric-manager.ts';
import { networkHost } from '../../test/network-subject.ts';
import { recordedHost } from '../../test/recorded-subject.ts';
import { simHosts } from '../../test/sim-subject.ts';
import { treeHost } from '../../test/tree-subject.ts';
import type { ContractTest, HostUnderTest } from './contract/subject.ts';
import { CONTRACT_TESTS, contractTestsFor } from './host.contract.ts';

/** Each Linux host with the file that runs the suite on it. */
const LINUX = {
  'linux/linux.test.ts': { recordedHost, treeHost },
  'linux/network-ports.test.ts': { networkHost },
  'linux/fabric-act.test.ts': { fabricHost },
  'linux/composed.slow.test.ts': { composedHost },
} as const;

type Declared = Pick<HostUnderTest, 'capabilities' | 'simulated'>;

const nameOf = (one: ContractTest): string => `${one.part}: ${one.name}`;
const withoutHost = (hosts: readonly Declared[]): readonly string[] => {
  const run = new Set(
    hosts.flatMap((host) => contractTestsFor(host.capabilities).filter((one) => !host.simulated.includes(one.part))),
  );
  return CONTRACT_TESTS.filter((one) => !run.has(one)).map(nameOf);
};

test('every case runs against the Linux code of its part', () => {
  assert.deepEqual(withoutHost(Object.values(LINUX).flatMap((hosts): Declared[] => Object.values(hosts))), []);
});

test('the composed Linux host runs the whole suite', () => {
  assert.deepEqual(contractTestsFor(composedHost.capabilities), CONTRACT_TESTS);
});

test('every case runs on a simulated host, and a profile omits only the fabric', () => {
  assert.deepEqual(withoutHost(simHosts), []);
  for (const host of simHosts)
    assert.ok(
      withoutHost([host]).every((name) => name.startsWith('fabric: ')),
      host.name,
    );
});

test('case names are unique, so that a result identifies one case', () => {
  assert.equal(new Set(CONTRACT_TESTS.map(nameOf)).size, CONTRACT_TESTS.length);
});

test('each host is tested by its file', async () => {
  for (const [file, hosts] of Object.entries(LINUX)) {
    const text = await readFile(fileURLToPath(new URL(file, import.meta.url)), 'utf8');
    for (const name of Object.keys(hosts)) assert.ok(text.includes(`hostContract(${name})`), `${file} runs ${name}`);
  }
});
