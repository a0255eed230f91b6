/** The table of contents of the API: one line per operation. A missing, extra or mistyped one does not compile. */
import type { Handlers, PublicApi } from '@gpuaas/contract';
import type { ReadCtx, WriteCtx } from '../context.ts';
import * as accessGrant from '../services/access-grant.ts';
import * as accessPolicy from '../services/access-policy.ts';
import * as admin from '../services/admin.ts';
import * as allocation from '../services/allocation.ts';
import * as allocationAdmin from '../services/allocation-admin.ts';
import * as allocationPower from '../services/allocation-power.ts';
import * as allocationRelease from '../services/allocation-release.ts';
import * as apiToken from '../services/api-token.ts';
import * as auditLog from '../services/audit-log.ts';
import * as backfill from '../services/backfill.ts';
import * as backup from '../services/backup.ts';
import * as capacity from '../services/capacity.ts';
import * as capacityHistory from '../services/capacity-history.ts';
import * as clock from '../services/clock.ts';
import * as diskOwnership from '../services/disk-ownership.ts';
import * as doctor from '../services/doctor.ts';
import * as event from '../services/event.ts';
import * as groupMapping from '../services/group-mapping.ts';
import * as groupSync from '../services/group-sync.ts';
import * as healthReport from '../services/health-report.ts';
import * as invariant from '../services/invariant.ts';
import * as inventory from '../services/inventory.ts';
import * as invitation from '../services/invitation.ts';
import * as logLine from '../services/log-line.ts';
import * as me from '../services/me.ts';
import * as node from '../services/node.ts';
import * as nodeAgent from '../services/node-agent.ts';
import * as nodeHost from '../services/node-host.ts';
import * as nodeImage from '../services/node-image.ts';
import * as nodeEnd from '../services/node-retire.ts';
import * as organization from '../services/organization.ts';
import * as organizationLimit from '../services/organization-limit.ts';
import * as osImage from '../services/os-image.ts';
import * as platformKey from '../services/platform-key.ts';
import * as pool from '../services/pool.ts';
import * as price from '../services/price.ts';
import * as project from '../services/project.ts';
import * as quota from '../services/quota.ts';
import * as quotaRequest from '../services/quota-request.ts';
import * as region from '../services/region.ts';
import * as restore from '../services/restore.ts';
import * as scheduler from '../services/scheduler.ts';
import * as serviceAccount from '../services/service-account.ts';
import * as setup from '../services/setup.ts';
import * as signUpRequest from '../services/sign-up-request.ts';
import * as site from '../services/site.ts';
import * as sitePolicy from '../services/site-policy.ts';
import * as sku from '../services/sku.ts';
import * as slot from '../services/slot.ts';
import * as slotApprove from '../services/slot-approve.ts';
import * as slotMap from '../services/slot-map.ts';
import * as sshKey from '../services/ssh-key.ts';
import * as terminalSession from '../services/terminal-session.ts';
import * as terminalTicket from '../services/terminal-ticket.ts';
import * as topology from '../services/topology.ts';
import * as trace from '../services/trace.ts';
import * as trustKey from '../services/trust-key.ts';
import * as usage from '../services/usage.ts';
import * as vmProfile from '../services/vm-profile.ts';
import * as webSession from '../services/web-session.ts';
import * as wipeCertificate from '../services/wipe-certificate.ts';
import * as wipeVerify from '../services/wipe-verify.ts';
import * as workflowRun from '../services/workflow-run.ts';

export const handlers = {
  meGet: me.get,

  organizationList: organization.list,
  organizationCreate: organization.create,
  organizationGet: organization.get,
  organizationUpdate: organization.update,
  organizationLimitList: organizationLimit.list,
  organizationMemberList: organization.memberList,
  organizationMemberUpdate: organization.memberUpdate,
  organizationMemberRemove: organization.memberRemove,

  invitationList: invitation.list,
  invitationCreate: invitation.create,
  invitationRevoke: invitation.revoke,
  invitationAccept: invitation.accept,

  projectList: project.list,
  projectCreate: project.create,
  projectGet: project.get,
  projectUpdate: project.update,
  projectDelete: project.remove,
  projectMemberList: project.memberList,
  projectMemberPut: project.memberPut,
  projectMemberRemove: project.memberRemove,

  serviceAccountList: serviceAccount.list,
  serviceAccountCreate: serviceAccount.create,
  serviceAccountGet: serviceAccount.get,
  serviceAccountUpdate: serviceAccount.update,
  serviceAccountDelete: serviceAccount.remove,
  serviceAccountSecretRotate: serviceAccount.secretRotate,
  serviceAccountTokenList: serviceAccount.tokenList,
  serviceAccountTokenCreate: serviceAccount.tokenCreate,
  serviceAccountTokenRevoke: serviceAccount.tokenRevoke,
  serviceAccountTokenIssue: serviceAccount.tokenIssue,

  apiTokenList: apiToken.list,
  apiTokenCreate: apiToken.create,
  apiTokenRevoke: apiToken.revoke,

  webSessionList: webSession.list,
  webSessionRevoke: webSession.revoke,

  sshKeyList: sshKey.list,
  sshKeyCreate: sshKey.create,
  sshKeyGet: sshKey.get,
  sshKeyDelete: sshKey.remove,

  regionList: region.list,
  skuList: sku.list,
  skuGet: sku.get,
  osImageList: osImage.list,
  osImageGet: osImage.get,

  allocationEstimate: allocation.estimate,
  allocationCreate: allocation.create,
  allocationList: allocation.list,
  allocationGet: allocation.get,
  allocationTimeline: allocation.timeline,
  allocationWipeCertificateGet: wipeCertificate.get,
  wipeCertificateKeyList: wipeCertificate.keyList,
  adminNodeSlotProofList: wipeVerify.slotProofList,
  adminWipeProofVerify: wipeVerify.verify,
  allocationUpdate: allocation.update,
  allocationRelease: allocationRelease.release,
  allocationStop: allocationPower.stop,
  allocationStart: allocationPower.start,
  allocationReboot: allocationPower.reboot,
  allocationReinstall: allocationPower.reinstall,
  terminalTicketCreate: terminalTicket.create,
  terminalSessionList: terminalSession.list,
  terminalSessionGet: terminalSession.get,
  terminalSessionClose: terminalSession.close,
  terminalRecordingGet: terminalSession.recordingGet,
  accessGrantList: accessGrant.list,
  accessGrantCreate: accessGrant.create,
  accessGrantRevoke: accessGrant.revoke,
  accessPolicyGet: accessPolicy.get,
  accessPolicyUpdate: accessPolicy.update,
  usageList: usage.list,
  usageSummaryGet: usage.summaryGet,
  adminAllocationList: allocationAdmin.adminList,
  adminAllocationGet: allocationAdmin.adminGet,
  adminAllocationForceRelease: allocationAdmin.forceRelease,
  adminAllocationForceCleanup: allocationAdmin.forceCleanup,

  capacityList: capacity.list,
  quotaGet: quota.get,
  adminNodeList: node.list,
  adminSlotMapList: slotMap.list,
  adminNodeGet: node.get,
  adminNodeSlotList: node.slotList,
  adminNodeCreate: nodeAgent.create,
  adminNodeEnrollmentCreate: nodeAgent.enrollmentCreate,
  adminNodeRebind: nodeHost.rebind,
  adminNodeAgentGet: nodeAgent.get,
  adminNodeAgentRevoke: nodeAgent.revoke,
  adminNodeAgentUpdate: nodeAgent.update,
  adminNodeRetire: nodeEnd.retire,
  adminNodeDelete: nodeEnd.remove,
  adminNodeTaskList: nodeAgent.taskList,
  adminNodeTaskGet: nodeAgent.taskGet,
  adminPlatformKeyList: platformKey.list,
  adminPlatformKeyRotate: platformKey.rotate,
  adminTrustKeyList: trustKey.list,
  adminTrustKeyGet: trustKey.get,
  adminTrustKeyCreate: trustKey.create,
  adminTrustKeyActivate: trustKey.activate,
  adminTrustKeyRetire: trustKey.retire,
  adminTrustKeyRevoke: trustKey.revoke,
  adminLogList: logLine.list,
  adminNodeUpdate: node.update,
  adminNodeHold: node.hold,
  adminNodeLaunchFailuresClear: node.clearLaunchFailures,
  adminHoldCreate: node.holdCreate,
  adminNodeDrain: node.drain,
  adminNodeConvertPlan: node.convertPlan,
  adminNodeConvert: node.convert,
  adminNodeDiscoveryCreate: topology.discoveryCreate,
  adminNodeDiscoveryGet: topology.discoveryGet,
  adminNodeDiscoveryFactsGet: topology.factsGet,
  adminNodeSlotGet: slot.get,
  adminNodeSlotApprove: slotApprove.approve,
  adminNodeSlotDisable: slot.disable,
  adminNodeSlotEnable: slot.enable,
  adminNodeSlotQuarantine: slot.quarantine,
  adminNodeSlotRepair: slot.repair,
  adminNodeSlotMarkWiped: slot.markWiped,
  adminNodeHealthGet: healthReport.get,
  adminNodeHealthProbe: healthReport.probe,
  adminNodeHealthOverridePut: healthReport.overridePut,
  adminNodeHealthOverrideDelete: healthReport.overrideDelete,
  adminRestoreGet: restore.get,
  adminRestoreBegin: restore.begin,
  adminNodeRestoreRelease: restore.release,
  adminClockGet: clock.get,
  adminClockConfirm: clock.confirm,
  adminHealthBreakerGet: healthReport.breakerGet,
  adminHealthBreakerReset: healthReport.breakerReset,
  adminNodeInventoryGet: inventory.get,
  adminNodeVmRemove: inventory.vmRemove,
  adminNodeBundleLeaseEnd: inventory.leaseEnd,
  adminNodeImageList: nodeImage.list,
  adminNodeImagePull: nodeImage.pull,
  adminNodeImageEvict: nodeImage.evict,
  adminNodeImageVerify: nodeImage.verify,
  adminNodeDiskList: diskOwnership.list,
  adminNodeDiskApprove: diskOwnership.own,
  adminNodeDiskExclude: diskOwnership.exclude,
  adminNodeDiskRevoke: diskOwnership.revoke,
  adminCapacityList: capacity.fleetList,
  adminCapacityHistoryList: capacityHistory.historyList,
  adminQuotaList: quota.list,
  adminQuotaPut: quota.put,
  adminSchedulerSnapshot: scheduler.snapshot,
  adminInvariantCheck: invariant.check,
  adminClaimBackfill: backfill.claimBackfill,

  auditLogList: auditLog.auditLogList,
  auditLogExport: auditLog.auditLogExport,
  adminAuditLogList: auditLog.adminAuditLogList,
  adminAuditLogVerify: auditLog.adminAuditLogVerify,

  eventList: event.eventList,
  eventStream: event.eventStream,
  organizationEventList: event.organizationEventList,
  organizationEventStream: event.organizationEventStream,
  adminEventStream: event.adminEventStream,

  traceGet: trace.get,
  adminTraceGet: trace.adminGet,

  workflowRunList: workflowRun.list,
  workflowRunGet: workflowRun.get,
  workflowRunStepList: workflowRun.stepList,
  adminWorkflowRunList: workflowRun.adminList,
  adminWorkflowRunGet: workflowRun.adminGet,
  adminWorkflowRunStepList: workflowRun.adminStepList,
  adminWorkflowRunRetry: workflowRun.adminRetry,
  adminWorkflowRunCancel: workflowRun.adminCancel,

  adminOrganizationList: admin.organizationList,
  adminUserList: admin.userList,
  adminUserGet: admin.userGet,
  adminUserUpdate: admin.userUpdate,
  adminRegionList: region.adminList,
  adminRegionGet: region.adminGet,
  adminRegionCreate: region.create,
  adminRegionUpdate: region.update,
  adminRegionRetire: region.retire,
  adminSkuList: sku.adminList,
  adminSkuGet: sku.adminGet,
  adminSkuCreate: sku.create,
  adminSkuUpdate: sku.update,
  adminSkuRetire: sku.retire,
  adminVmProfileList: vmProfile.adminList,
  adminVmProfileGet: vmProfile.adminGet,
  adminVmProfileCreate: vmProfile.create,
  adminVmProfileUpdate: vmProfile.update,
  adminVmProfileRetire: vmProfile.retire,
  adminPriceList: price.adminList,
  adminPriceGet: price.adminGet,
  adminPriceCreate: price.create,
  adminPriceCancel: price.cancel,
  adminPoolList: pool.adminList,
  adminPoolGet: pool.adminGet,
  adminPoolCreate: pool.create,
  adminPoolUpdate: pool.update,
  adminPoolRetire: pool.retire,
  adminOsImageList: osImage.adminList,
  adminOsImageGet: osImage.adminGet,
  adminOsImageRegister: osImage.register,
  adminOsImageUpdate: osImage.update,
  adminOsImageRetire: osImage.retire,

  adminSiteExport: site.exportSite,
  adminSitePlan: site.plan,
  adminSiteApply: site.apply,
  adminSitePolicyGet: sitePolicy.get,
  adminSitePolicyUpdate: sitePolicy.update,
  adminOrganizationCreate: organization.adminCreate,
  adminSignUpRequestList: signUpRequest.list,
  adminSignUpRequestApprove: signUpRequest.approve,
  adminSignUpRequestReject: signUpRequest.reject,
  quotaRequestList: quotaRequest.list,
  quotaRequestCreate: quotaRequest.create,
  quotaRequestWithdraw: quotaRequest.withdraw,
  adminQuotaRequestList: quotaRequest.adminList,
  adminQuotaRequestApprove: quotaRequest.approve,
  adminQuotaRequestReject: quotaRequest.reject,
  adminGroupMappingList: groupMapping.list,
  adminGroupMappingCreate: groupMapping.create,
  adminGroupMappingDelete: groupMapping.remove,
  adminGroupSync: groupMapping.sync,
  adminGroupSyncPlan: groupSync.plan,
  adminGroupSyncApply: groupSync.apply,
  adminDoctorGet: doctor.get,
  adminSetupGet: setup.get,
  adminBackupList: backup.list,
  adminBackupRecord: backup.record,
} satisfies Handlers<PublicApi, ReadCtx, WriteCtx>;
