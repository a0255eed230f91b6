import type { Group } from '../command.ts';
import { adminAllocation } from './admin-allocation.ts';
import { adminAudit } from './admin-audit.ts';
import { adminBackup } from './admin-backup.ts';
import { adminCapacity, adminHold, adminQuota } from './admin-capacity.ts';
import { adminDisk } from './admin-disk.ts';
import { adminDoctor } from './admin-doctor.ts';
import { adminHealth } from './admin-health.ts';
import { adminImage } from './admin-image.ts';
import { adminClaims, adminInvariants, adminWipeProof } from './admin-integrity.ts';
import { adminNode } from './admin-node.ts';
import { adminOrganization, adminRegion, adminSku, adminUser } from './admin-platform.ts';
import { adminPlatformKey } from './admin-platform-key.ts';
import { adminRestore } from './admin-restore.ts';
import { adminScheduler } from './admin-scheduler.ts';
import { adminSetup } from './admin-setup.ts';
import { adminSlot } from './admin-slot.ts';
import { adminTrust } from './admin-trust.ts';
import { adminWorkflowRun } from './admin-workflow-run.ts';
import { adminEvents } from './events.ts';
import { adminTrace } from './trace.ts';

export const admin: Group = {
  name: 'admin',
  summary: 'Operate the control plane (requires a platform role)',
  commands: [
    adminSetup,
    adminDoctor,
    adminBackup,
    adminAllocation,
    adminNode,
    adminSlot,
    adminDisk,
    adminHealth,
    adminRestore,
    adminHold,
    adminCapacity,
    adminQuota,
    adminScheduler,
    adminInvariants,
    adminClaims,
    adminWipeProof,
    adminTrust,
    adminPlatformKey,
    adminAudit,
    adminEvents,
    adminOrganization,
    adminUser,
    adminRegion,
    adminSku,
    adminImage,
    adminWorkflowRun,
    adminTrace,
  ],
};
