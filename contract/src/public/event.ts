import Type from 'typebox';
import { Closed, Page, PageQuery, Time } from '../common.ts';
import { define } from '../define.ts';
import { Id } from '../ids.ts';

/** CloudEvents 1.0 in its JSON form. `data` is typed per event in asyncapi.yaml. */
export const ProjectEvent = Closed({
  specversion: Type.Literal('1.0'),
  id: Id('event'),
  type: Type.String({ examples: ['project.updated'] }),
  source: Type.String({ examples: ['/gpuaas'] }),
  subject: Type.String({ description: 'ID of its subject.' }),
  time: Time('When it happened.'),
  datacontenttype: Type.Literal('application/json'),
  correlationid: Type.String(),
  organizationid: Type.String(),
  projectid: Type.String(),
  data: Type.Object({}, { additionalProperties: true }),
});

/** As an event of a project; one of the organization itself names no project. */
const OrganizationEvent = Closed({ ...ProjectEvent.properties, projectid: Type.Optional(Type.String()) });

/** As an event of a project, but organization and project may be null: nodes belong to no organization. */
const PlatformEvent = Closed({
  ...ProjectEvent.properties,
  organizationid: Type.Optional(Type.String()),
  projectid: Type.Optional(Type.String()),
});

const params = Closed({ project_id: Id('project') });
const ofOrganization = Closed({ organization_id: Id('organization') });
const OF_TYPE = { type: Type.Optional(Type.String({ maxLength: 64, pattern: '^[a-z_.]+$' })) };
const read = {
  method: 'GET',
  tag: 'Events',
  audit: null,
  idempotency: 'none',
  status: 200,
} as const;

const START =
  'Starts now, or after the event named by Last-Event-ID. If the events after it are no longer available, the response is `gone`. An open stream that cannot continue ends with an event of type `problem`, whose data is the problem.';

const KEPT_OPEN = 'A comment line every 15 seconds keeps the connection open.';
const EVENTS_OF_ORGANIZATION =
  'An event of the organization itself, such as a decision about its GPU limit, has no `projectid`.';

export const eventApi = define({
  eventList: {
    ...read,
    params,
    access: 'project',
    permission: 'event.read',
    path: '/api/v1/projects/{project_id}/events',
    summary: 'List events of the project in commit order, oldest first',
    query: Closed({ ...PageQuery, ...OF_TYPE }),
    response: Page(ProjectEvent),
  },
  eventStream: {
    ...read,
    params,
    access: 'project',
    permission: 'event.read',
    path: '/api/v1/projects/{project_id}/events/stream',
    summary: 'Stream events of the project (server-sent events)',
    description: `${START} ${KEPT_OPEN}`,
    query: Closed(OF_TYPE),
    response: ProjectEvent,
    stream: 'text/event-stream',
  },
  organizationEventList: {
    ...read,
    params: ofOrganization,
    access: 'tenant',
    permission: 'event.read',
    path: '/api/v1/organizations/{organization_id}/events',
    summary: 'List events of the organization and its projects in commit order, oldest first',
    description: EVENTS_OF_ORGANIZATION,
    query: Closed({ ...PageQuery, ...OF_TYPE }),
    response: Page(OrganizationEvent),
  },
  organizationEventStream: {
    ...read,
    params: ofOrganization,
    access: 'tenant',
    permission: 'event.read',
    path: '/api/v1/organizations/{organization_id}/events/stream',
    summary: 'Stream events of the organization and its projects (server-sent events)',
    description: `${EVENTS_OF_ORGANIZATION} ${START} ${KEPT_OPEN}`,
    query: Closed(OF_TYPE),
    response: OrganizationEvent,
    stream: 'text/event-stream',
  },
  adminEventStream: {
    ...read,
    path: '/api/v1/admin/events/stream',
    summary: 'Stream events of the whole platform (server-sent events)',
    description: `${START} For live pages of operators.`,
    access: 'platform',
    permission: 'admin.event.read',
    query: Closed(OF_TYPE),
    response: PlatformEvent,
    stream: 'text/event-stream',
  },
});
