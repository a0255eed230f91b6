/** The public API: the table of contents of what users, the CLI, the console and apps can call. */
import { accessGrantApi } from './access-grant.ts';
import { accessPolicyApi } from './access-policy.ts';
import { adminAllocationApi } from './admin-allocation.ts';
import { adminBackupApi } from './admin-backup.ts';
import { adminCapacityApi } from './admin-capacity.ts';
import { adminClaimApi } from './admin-claim.ts';
import { adminClockApi } from './admin-clock.ts';
import { adminDiscoveryApi } from './admin-discovery.ts';
import { adminDiskApi } from './admin-disk.ts';
import { adminDoctorApi } from './admin-doctor.ts';
import { adminGroupMappingApi } from './admin-group-mapping.ts';
import { adminGroupSyncApi } from './admin-group-sync.ts';
import { adminHealthApi } from './admin-health.ts';
import { adminImageApi } from './admin-image.ts';
import { adminInvariantApi } from './admin-invariant.ts';
import { adminInventoryApi } from './admin-inventory.ts';
import { adminLogApi } from './admin-log.ts';
import { adminNodeApi } from './admin-node.ts';
import { adminNodeAgentApi } from './admin-node-agent.ts';
import { adminNodeTaskApi } from './admin-node-task.ts';
import { adminOrganizationApi } from './admin-organization.ts';
import { adminPlatformKeyApi } from './admin-platform-key.ts';
import { adminPoolApi } from './admin-pool.ts';
import { adminPriceApi } from './admin-price.ts';
import { adminQuotaApi } from './admin-quota.ts';
import { adminRegionApi } from './admin-region.ts';
import { adminRestoreApi } from './admin-restore.ts';
import { adminSchedulerApi } from './admin-scheduler.ts';
import { adminSetupApi } from './admin-setup.ts';
import { adminSignUpRequestApi } from './admin-sign-up-request.ts';
import { adminSiteApi } from './admin-site.ts';
import { adminSitePolicyApi } from './admin-site-policy.ts';
import { adminSkuApi } from './admin-sku.ts';
import { adminSlotApi } from './admin-slot.ts';
import { adminSlotMapApi } from './admin-slot-map.ts';
import { adminTrustApi } from './admin-trust.ts';
import { adminUserApi } from './admin-user.ts';
import { adminVmProfileApi } from './admin-vm-profile.ts';
import { allocationApi } from './allocation.ts';
import { allocationPowerApi } from './allocation-power.ts';
import { apiTokenApi } from './api-token.ts';
import { auditLogApi } from './audit-log.ts';
import { capacityApi } from './capacity.ts';
import { catalogApi } from './catalog.ts';
import { eventApi } from './event.ts';
import { invitationApi } from './invitation.ts';
import { meApi } from './me.ts';
import { organizationApi } from './organization.ts';
import { projectApi } from './project.ts';
import { adminQuotaRequestApi, quotaRequestApi } from './quota-request.ts';
import { serviceAccountApi } from './service-account.ts';
import { sshKeyApi } from './ssh-key.ts';
import { terminalSessionApi } from './terminal-session.ts';
import { traceApi } from './trace.ts';
import { webSessionApi } from './web-session.ts';
import { wipeCertificateApi } from './wipe-certificate.ts';
import { workflowRunApi } from './workflow-run.ts';

export const api = {
  ...meApi,
  ...organizationApi,
  ...invitationApi,
  ...projectApi,
  ...serviceAccountApi,
  ...apiTokenApi,
  ...sshKeyApi,
  ...webSessionApi,
  ...catalogApi,
  ...capacityApi,
  ...allocationApi,
  ...allocationPowerApi,
  ...terminalSessionApi,
  ...accessGrantApi,
  ...accessPolicyApi,
  ...wipeCertificateApi,
  ...quotaRequestApi,
  ...auditLogApi,
  ...eventApi,
  ...traceApi,
  ...workflowRunApi,
  ...adminOrganizationApi,
  ...adminUserApi,
  ...adminRegionApi,
  ...adminSkuApi,
  ...adminVmProfileApi,
  ...adminPriceApi,
  ...adminPoolApi,
  ...adminImageApi,
  ...adminAllocationApi,
  ...adminQuotaApi,
  ...adminSchedulerApi,
  ...adminInvariantApi,
  ...adminClaimApi,
  ...adminCapacityApi,
  ...adminSlotMapApi,
  ...adminNodeApi,
  ...adminNodeAgentApi,
  ...adminNodeTaskApi,
  ...adminRestoreApi,
  ...adminClockApi,
  ...adminDiscoveryApi,
  ...adminSlotApi,
  ...adminDiskApi,
  ...adminHealthApi,
  ...adminInventoryApi,
  ...adminPlatformKeyApi,
  ...adminTrustApi,
  ...adminLogApi,
  ...adminSiteApi,
  ...adminSitePolicyApi,
  ...adminSignUpRequestApi,
  ...adminQuotaRequestApi,
  ...adminGroupMappingApi,
  ...adminGroupSyncApi,
  ...adminDoctorApi,
  ...adminSetupApi,
  ...adminBackupApi,
};

export type PublicApi = typeof api;
export type OperationId = keyof PublicApi;
