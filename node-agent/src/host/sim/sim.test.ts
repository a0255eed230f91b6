/** The simulated host keeps the contract on each of its profiles. */
import { simHosts } from '../../../test/sim-subject.ts';
import { hostContract } from '../host.contract.ts';

for (const host of simHosts) hostContract(host);
