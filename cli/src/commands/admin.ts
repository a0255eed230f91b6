import type { Group } from '../command.ts';
import { adminAudit } from './admin-audit.ts';
import { adminOrganization, adminRegion, adminSku, adminUser } from './admin-platform.ts';
import { adminWorkflowRun } from './admin-workflow-run.ts';

export const admin: Group = {
  name: 'admin',
  summary: 'run the platform; needs a platform role',
  commands: [adminAudit, adminOrganization, adminUser, adminRegion, adminSku, adminWorkflowRun],
};
