/**
 * What every host owes its tasks, as tests that both implementations run: doing twice is doing once, a drive is its
 * serial, a refusal comes before any change, and what is not ours stays as it is. Each test has a host of its own.
 *
 * A host that cannot do a part, because no hardware or no tool stands behind it, names the part and the reason in
 * `lacks`: those tests are shown as skipped, never as passed.
 */
import { describe, type TestContext, test } from 'node:test';
import { accessTests } from './contract/access.ts';
import { diskTests } from './contract/disk.ts';
import { fabricTests } from './contract/fabric.ts';
import { guestTests } from './contract/guest.ts';
import { imageTests } from './contract/image.ts';
import { networkTests } from './contract/network.ts';
import { pciTests } from './contract/pci.ts';
import type { ContractTest, Part, Subject } from './contract/subject.ts';
import { systemTests } from './contract/system.ts';

export type { Part, Subject } from './contract/subject.ts';

export type ContractOptions = Readonly<{ lacks?: Partial<Record<Part, string>> }>;

const TESTS: readonly ContractTest[] = [
  ...pciTests,
  ...diskTests,
  ...imageTests,
  ...guestTests,
  ...networkTests,
  ...fabricTests,
  ...systemTests,
  ...accessTests,
];

const skipped = (one: ContractTest, subject: Subject): string | null => {
  if (subject.slots.length < one.slots) return `needs ${one.slots} slots, the host has ${subject.slots.length}`;
  const missing = one.arrange.find((name) => subject.arrange[name] === undefined);
  return missing === undefined ? null : `nothing here can arrange: ${missing}`;
};

export const hostContract = (name: string, makeHost: () => Promise<Subject>, options: ContractOptions = {}): void => {
  describe(`${name} is a host`, () => {
    for (const one of TESTS) {
      const lack = options.lacks?.[one.part];
      test(
        `${one.part}: ${one.name}`,
        lack === undefined ? {} : { skip: `host: ${lack}` },
        async (context: TestContext) => {
          const subject = await makeHost();
          try {
            const reason = skipped(one, subject);
            if (reason === null) await one.run(subject);
            else context.skip(`host: ${reason}`);
          } finally {
            await subject.close();
          }
        },
      );
    }
  });
};
