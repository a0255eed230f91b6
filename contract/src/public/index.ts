/** The public API: the table of contents of what users, the CLI, the console and apps can call. */
import { accessGrantApi } from './access-grant.ts';
import { accessPolicyApi } from './access-policy.ts';
import { adminApi } from './admin.ts';
import { adminCapacityApi } from './admin-capacity.ts';
import { adminHealthApi } from './admin-health.ts';
import { adminImageApi } from './admin-image.ts';
import { adminInventoryApi } from './admin-inventory.ts';
import { adminLogApi } from './admin-log.ts';
import { adminNodeApi } from './admin-node.ts';
import { adminPlacementApi } from './admin-placement.ts';
import { adminSlotMapApi } from './admin-slot-map.ts';
import { adminTopologyApi } from './admin-topology.ts';
import { adminTrustApi } from './admin-trust.ts';
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
  ...auditLogApi,
  ...eventApi,
  ...traceApi,
  ...workflowRunApi,
  ...adminApi,
  ...adminImageApi,
  ...adminPlacementApi,
  ...adminCapacityApi,
  ...adminSlotMapApi,
  ...adminNodeApi,
  ...adminTopologyApi,
  ...adminHealthApi,
  ...adminInventoryApi,
  ...adminTrustApi,
  ...adminLogApi,
};

export type PublicApi = typeof api;
export type OperationId = keyof PublicApi;
