/** Actions for a pasted ID: open the resource, trace it, find it in the audit log. */
import type { Me } from '@gpuaas/sdk';
import { refusalOf } from '../../api/me.tsx';
import type { Entry } from './entry.ts';
import { isTraceable, type Recognized } from './recognize.ts';

/** The project of an allocation, once one of the user's projects was found to contain it. */
export type Found = Readonly<{ project_id: string; name: string; state: string }>;

type Offer = Readonly<{ label: string; href: string; detail?: string | undefined }>;

const opened = (me: Me, { id, kind }: Recognized, projectId: string | null, found: Found | null): readonly Offer[] => {
  switch (kind) {
    case 'allocation':
      return found === null
        ? []
        : [
            {
              label: `Open allocation ${found.name}`,
              href: `/projects/${found.project_id}/allocations/${id}`,
              detail: me.projects.find((project) => project.id === found.project_id)?.name,
            },
          ];
    case 'node':
      return refusalOf(me, 'admin.node.read') === null ? [{ label: 'Open node', href: `/platform/nodes/${id}` }] : [];
    case 'project': {
      const project = me.projects.find((one) => one.id === id);
      return project === undefined ? [] : [{ label: `Open project ${project.name}`, href: `/projects/${id}` }];
    }
    case 'organization': {
      const organization = me.organizations.find((one) => one.id === id);
      if (organization === undefined) return [];
      return [{ label: `Open organization ${organization.display_name}`, href: `/organizations/${id}` }];
    }
    case 'service account':
      return projectId === null
        ? []
        : [
            {
              label: 'Open service account',
              href: `/projects/${projectId}/access?tab=service-accounts&account=${id}`,
            },
          ];
    case 'SSH key':
      return [{ label: 'Open your SSH keys', href: '/settings?tab=ssh-keys' }];
    case 'API token':
      return [{ label: 'Open your API tokens', href: '/settings?tab=tokens' }];
    case 'browser session':
      return [{ label: 'Open your browser sessions', href: '/settings?tab=sessions' }];
    default:
      return [];
  }
};

const traced = (me: Me, recognized: Recognized, projectId: string | null): readonly Offer[] => {
  if (!isTraceable(recognized)) return [];
  const query = `?id=${encodeURIComponent(recognized.id)}`;
  if (refusalOf(me, 'admin.node.read') === null)
    return [{ label: 'Trace this ID', href: `/platform/trace${query}`, detail: `${recognized.kind}, whole platform` }];
  if (projectId === null) return [];
  return [{ label: 'Trace this ID', href: `/projects/${projectId}/trace${query}`, detail: recognized.kind }];
};

const audited = (me: Me, { id, kind }: Recognized, projectId: string | null): readonly Offer[] => {
  const by = kind === 'correlation ID' ? 'correlation' : kind === 'user' ? 'actor' : 'target';
  const query = `?${by}=${encodeURIComponent(id)}`;
  const label = 'Find in audit log';
  if (refusalOf(me, 'admin.audit.read') === null)
    return [{ label, href: `/platform/audit${query}`, detail: `by ${by}, whole platform` }];
  const organization =
    me.projects.find((project) => project.id === projectId)?.organization_id ?? me.organizations[0]?.id;
  if (organization === undefined || refusalOf(me, 'audit.read', { organization }) !== null) return [];
  return [{ label, href: `/organizations/${organization}/audit${query}`, detail: `by ${by}` }];
};

export const idEntries = (
  me: Me,
  recognized: Recognized,
  projectId: string | null,
  found: Found | null,
): readonly Entry[] =>
  [
    ...opened(me, recognized, projectId, found),
    ...traced(me, recognized, projectId),
    ...audited(me, recognized, projectId),
  ].map(({ label, href, detail }) => ({
    key: `id ${href}`,
    group: 'This ID',
    label,
    detail: detail ?? recognized.kind,
    // A guess is offered too, after entries with that name.
    stands: recognized.isCertain ? 'first' : 'last',
    goesTo: { href },
  }));
