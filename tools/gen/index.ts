/** Everything that is generated and committed, in one list: `make gen` writes it, `make check` compares it. */
import { readCatalog } from './catalog.ts';
import { contractDocuments } from './contract.ts';
import { withClient, withMigratedDatabase } from './database.ts';
import { erd } from './erd.ts';
import type { Generated } from './file.ts';
import { consoleInputs } from './inputs.ts';
import { reconcilerTable } from './reconcilers.ts';
import { rowTypes } from './row-types.ts';
import { schemaText } from './schema.ts';
import { sdkTypes } from './sdk.ts';

export { workflowFiles } from './workflows.ts';

export const contractFiles = async (): Promise<readonly Generated[]> => [
  ...contractDocuments(),
  ...(await sdkTypes()),
  consoleInputs(),
  reconcilerTable(),
];

export const schemaFiles = (): Promise<readonly Generated[]> =>
  withMigratedDatabase((url) =>
    withClient(url, async (client) => {
      const catalog = await readCatalog(client);
      return [
        { path: 'server/schema.sql', text: schemaText(catalog) },
        { path: 'server/src/db/types.gen.ts', text: rowTypes(catalog) },
        { path: 'doc/architecture/erd.md', text: erd(catalog) },
      ];
    }),
  );
