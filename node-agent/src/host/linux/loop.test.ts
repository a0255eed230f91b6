/** The contract on real block devices: disks and images are those of Linux. */
import { loopHost } from '../../../test/loop-subject.ts';
import { hostContract } from '../host.contract.ts';

hostContract(loopHost);
