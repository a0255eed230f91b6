/** The event contract as an AsyncAPI 3.0 document: one channel per event type, each message a CloudEvents 1.0 envelope. */
import Type, { type TObject } from 'typebox';
import pkg from '../../package.json' with { type: 'json' };
import { Time } from '../common.ts';
import { Id } from '../ids.ts';
import { exampleOf } from './example.ts';
import { createRegistry, type JsonObject, pascal } from './schemas.ts';

type Events = Readonly<Record<string, Readonly<{ summary: string; data: TObject }>>>;

/** Open, because CloudEvents lets a broker add extension attributes on the way. */
const envelope = Type.Object(
  {
    specversion: Type.Literal('1.0'),
    id: Id('event', 'Unique. The same event can arrive twice, so consumers store the IDs they have processed.'),
    source: Type.String({ examples: ['/gpuaas'] }),
    type: Type.String({ description: 'Event type, which is also the last part of the NATS subject.' }),
    subject: Type.String({ description: 'ID of its subject.', examples: ['prj_01k9zv3m8q4t6w2x5y7r0s1n3p'] }),
    time: Time('When it happened.'),
    datacontenttype: Type.Literal('application/json'),
    correlationid: Type.String({ description: 'Correlation ID of the request that caused it.' }),
    organizationid: Type.Optional(Id('organization', 'Absent for events outside an organization.')),
    projectid: Type.Optional(Id('project', 'Absent for events outside a project.')),
    data: Type.Object({}, { additionalProperties: true, description: 'Typed per event.' }),
  },
  { description: 'CloudEvents 1.0, structured JSON mode.' },
);

const description = `What happened, emitted after the transaction that made it so.

Events are hints and history, never the truth: a consumer that missed one reads the resource. They are published to
NATS JetStream in commit order, at least once, with the event id as message id.`;

export const asyncapi = (events: Events): JsonObject => {
  const registry = createRegistry();
  const channels: JsonObject = {};
  const operations: JsonObject = {};
  const messages: JsonObject = {};
  for (const [type, event] of Object.entries(events)) {
    const name = pascal(type);
    messages[name] = {
      name: type,
      title: event.summary.replace(/\.$/, ''),
      summary: event.summary,
      contentType: 'application/cloudevents+json',
      payload: {
        allOf: [
          registry.use(envelope, 'EventEnvelope'),
          { type: 'object', properties: { type: { const: type }, data: registry.use(event.data, `${name}Data`) } },
        ],
      },
      examples: [
        { name: type, payload: { ...(exampleOf(envelope) as JsonObject), type, data: exampleOf(event.data) } },
      ],
    };
    channels[type] = {
      address: `gpuaas.${type}`,
      description: event.summary,
      messages: { [name]: { $ref: `#/components/messages/${name}` } },
    };
    operations[`publish${name}`] = {
      action: 'send',
      channel: { $ref: `#/channels/${type}` },
      summary: event.summary,
      messages: [{ $ref: `#/channels/${type}/messages/${name}` }],
    };
  }
  return {
    asyncapi: '3.0.0',
    info: {
      title: 'GPUaaS events',
      version: pkg.version,
      description,
      license: { name: 'Apache-2.0', url: 'https://www.apache.org/licenses/LICENSE-2.0' },
    },
    defaultContentType: 'application/cloudevents+json',
    channels,
    operations,
    components: { schemas: registry.components(), messages },
  };
};
