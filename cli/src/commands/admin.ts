import type { Group } from '../command.ts';
import { adminAllocation } from './admin-allocation.ts';
import { adminAudit } from './admin-audit.ts';
import { adminBackup } from './admin-backup.ts';
import { adminCapacity, adminHold, adminQuota } from './admin-capacity.ts';
import { adminClock } from './admin-clock.ts';
import { adminDisk } from './admin-disk.ts';
import { adminDoctor } from './admin-doctor.ts';
import { adminGroup, adminGroupMapping } from './admin-group-mapping.ts';
import { adminHealth } from './admin-health.ts';
import { adminImage } from './admin-image.ts';
import { adminClaims, adminInvariants, adminWipeProof } from './admin-integrity.ts';
import { adminNode } from './admin-node.ts';
import { adminOrganization, adminUser } from './admin-platform.ts';
import { adminPlatformKey } from './admin-platform-key.ts';
import { adminPool } from './admin-pool.ts';
import { adminPrice } from './admin-price.ts';
import { adminRegion } from './admin-region.ts';
import { adminRestore } from './admin-restore.ts';
import { adminScheduler } from './admin-scheduler.ts';
import { adminSetup } from './admin-setup.ts';
import { adminSite } from './admin-site.ts';
import { adminSignUpRequest, adminSitePolicy } from './admin-site-policy.ts';
import { adminSku } from './admin-sku.ts';
import { adminSlot } from './admin-slot.ts';
import { adminTrust } from './admin-trust.ts';
import { adminVmProfile } from './admin-vm-profile.ts';
import { adminWorkflowRun } from './admin-workflow-run.ts';
import { adminEvents } from './events.ts';
import { adminQuotaRequest } from './quota-request.ts';
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
    adminClock,
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
    adminVmProfile,
    adminPrice,
    adminPool,
    adminImage,
    adminWorkflowRun,
    adminTrace,
    adminSite,
    adminSitePolicy,
    adminSignUpRequest,
    adminQuotaRequest,
    adminGroupMapping,
    adminGroup,
  ],
};
