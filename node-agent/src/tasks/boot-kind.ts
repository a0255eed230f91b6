/** Whether this host can start the image of a VM, checked before anything of the VM is changed. */
import type { BootKind } from '@gpuaas/contract/node';
import { HostError } from '../host/host.ts';
import type { TaskContext } from './task.ts';
import type { Act } from './task-locks.ts';

const CURES: Readonly<Record<BootKind, string>> = {
  uefi: 'Install ovmf on the host, then run discovery.',
  kernel: 'Set GPUAAS_NODE_BOOT_KERNEL on the host, then run discovery.',
};

export const refuseBootKind = async (ctx: TaskContext, act: Act, kind: BootKind = 'uefi'): Promise<void> => {
  const kinds = await act('reading the boot kinds', ctx.host.hypervisor.bootKinds());
  if (!kinds.includes(kind))
    throw new HostError(
      'unsupported',
      `The image has boot kind ${kind}, and this host can start ${kinds.join(' and ') || 'none'}. ${CURES[kind]}`,
    );
};
