/** The contract's documents. */
import { api } from '@gpuaas/contract';
import { asyncapi, nodeOpenapi, openapi, siteSchema } from '@gpuaas/contract/emit';
import { events } from '@gpuaas/contract/events';
import { nodeApi } from '@gpuaas/contract/node';
import { stringify } from 'yaml';
import type { Generated } from './file.ts';

const yaml = (document: object, source: string): string =>
  `# Written by \`make gen\` from ${source}; do not edit.\n${stringify(document, { aliasDuplicateObjects: false, lineWidth: 120 })}`;

export const contractDocuments = (): readonly Generated[] => [
  { path: 'contract/openapi.yaml', text: yaml(openapi(api), 'contract/src/public') },
  { path: 'contract/node-openapi.yaml', text: yaml(nodeOpenapi(nodeApi), 'contract/src/node') },
  { path: 'contract/asyncapi.yaml', text: yaml(asyncapi(events), 'contract/src/events') },
  { path: 'contract/site.schema.json', text: `${JSON.stringify(siteSchema(), null, 2)}\n` },
];
