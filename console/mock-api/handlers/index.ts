/** Every operation of the public API: a missing, extra or mistyped one does not compile. */
import type { Handlers, PublicApi } from '@gpuaas/contract';
import type { MockCtx } from '../core/context.ts';
import { access } from './access.ts';
import { admin } from './admin.ts';
import { adminAllocation } from './admin-allocation.ts';
import { adminCapacity } from './admin-capacity.ts';
import { adminCatalog } from './admin-catalog.ts';
import { adminImage } from './admin-image.ts';
import { adminPool } from './admin-pool.ts';
import { allocation } from './allocation.ts';
import { allocationPower } from './allocation-power.ts';
import { auditLog } from './audit-log.ts';
import { capacity } from './capacity.ts';
import { catalog } from './catalog.ts';
import { clock } from './clock.ts';
import { event } from './event.ts';
import { health } from './health.ts';
import { inventory } from './inventory.ts';
import { invitation } from './invitation.ts';
import { log } from './log.ts';
import { me } from './me.ts';
import { node } from './node.ts';
import { nodeAgent } from './node-agent.ts';
import { organization } from './organization.ts';
import { organizationLimit } from './organization-limit.ts';
import { platformKey } from './platform-key.ts';
import { project } from './project.ts';
import { quotaRequest } from './quota-request.ts';
import { restore } from './restore.ts';
import { serviceAccount } from './service-account.ts';
import { setup } from './setup.ts';
import { site } from './site.ts';
import { siteFile } from './site-file.ts';
import { sshKey } from './ssh-key.ts';
import { terminalSession } from './terminal-session.ts';
import { token } from './token.ts';
import { topology } from './topology.ts';
import { trace } from './trace.ts';
import { trust } from './trust.ts';
import { webSession } from './web-session.ts';
import { wipeCertificate } from './wipe-certificate.ts';
import { workflowRun } from './workflow-run.ts';

export const handlers = {
  ...me,
  ...organization,
  ...organizationLimit,
  ...invitation,
  ...project,
  ...serviceAccount,
  ...token,
  ...sshKey,
  ...webSession,
  ...catalog,
  ...capacity,
  ...allocation,
  ...allocationPower,
  ...terminalSession,
  ...access,
  ...wipeCertificate,
  ...auditLog,
  ...event,
  ...trace,
  ...workflowRun,
  ...admin,
  ...adminAllocation,
  ...adminCapacity,
  ...adminImage,
  ...adminCatalog,
  ...adminPool,
  ...node,
  ...nodeAgent,
  ...topology,
  ...health,
  ...clock,
  ...inventory,
  ...platformKey,
  ...trust,
  ...restore,
  ...log,
  ...quotaRequest,
  ...setup,
  ...site,
  ...siteFile,
} satisfies Handlers<PublicApi, MockCtx, MockCtx>;
