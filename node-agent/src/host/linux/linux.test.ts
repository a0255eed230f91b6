/** The contract of reads on a recording, and of PCI and disks on a tree of files. */
import { recordedHost } from '../../../test/recorded-subject.ts';
import { treeHost } from '../../../test/tree-subject.ts';
import { hostContract } from '../host.contract.ts';

hostContract(recordedHost);
hostContract(treeHost);
