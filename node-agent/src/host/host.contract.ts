/**
 * The contract of every host, as tests that each implementation runs: every act can be repeated, a disk is identified by
 * its serial, a refusal comes before any change, and resources of others stay as they are. Each case has a host of its own.
 *
 * A host declares its capabilities, and the suite makes the cases that these allow. Nothing is skipped: a case that a host
 * cannot run does not exist there, and contract.test.ts asserts that every case runs on a Linux host and on a simulated one.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { accessTests } from './contract/access.ts';
import { diskTests } from './contract/disk.ts';
import { fabricTests } from './contract/fabric.ts';
import { guestTests } from './contract/guest.ts';
import { imageTests } from './contract/image.ts';
import { networkTests } from './contract/network.ts';
import { pciTests } from './contract/pci.ts';
import type { Capabilities, ContractTest, HostUnderTest } from './contract/subject.ts';
import { systemTests } from './contract/system.ts';

export const CONTRACT_TESTS: readonly ContractTest[] = [
  ...pciTests,
  ...diskTests,
  ...imageTests,
  ...guestTests,
  ...networkTests,
  ...fabricTests,
  ...systemTests,
  ...accessTests,
];

/** The cases that a host with these capabilities runs. */
export const contractTestsFor = ({ parts, slots, arrange }: Capabilities): readonly ContractTest[] =>
  CONTRACT_TESTS.filter(
    (one) => parts.includes(one.part) && one.slots <= slots && one.arrange.every((name) => arrange.includes(name)),
  );

/** A missing program or privilege skips the host as a whole, with that reason: GPUAAS_REQUIRE=all makes it a failure. */
export const hostContract = <C extends Capabilities>(host: HostUnderTest<C>): void => {
  describe(`${host.name} passes the host contract`, { skip: host.missing ?? false }, () => {
    for (const one of contractTestsFor(host.capabilities))
      test(`${one.part}: ${one.name}`, async () => {
        const subject = await host.make();
        try {
          assert.ok(subject.slots.length >= host.capabilities.slots, 'the host has the slots that it declares');
          await one.run(subject);
        } finally {
          await subject.close();
        }
      });
  });
};
