/** Whether a host can start an image. */
import type { BootKind } from './model.ts';

/** What agents that report no boot kinds start. */
const UNREPORTED: readonly BootKind[] = ['uefi'];

const LACKS: Readonly<Record<BootKind, string>> = {
  uefi: 'host has no UEFI firmware for VMs, which the image needs',
  kernel: 'host has no kernel for VMs, which the image needs',
};

/** Why the host cannot start an image of this boot kind, for operators; null if it can. */
export const cannotStart = (kinds: readonly BootKind[] | null | undefined, wanted: BootKind): string | null =>
  (kinds ?? UNREPORTED).includes(wanted) ? null : LACKS[wanted];
