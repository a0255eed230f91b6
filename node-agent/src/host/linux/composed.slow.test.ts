/** The whole contract on real VMs, disks, network and users. It boots a guest for many of its cases, so it is of the slow tier. */
import { after } from 'node:test';
import { closeComposedHost, composedHost } from '../../../test/composed-subject.ts';
import { hostContract } from '../host.contract.ts';

after(closeComposedHost);
hostContract(composedHost);
