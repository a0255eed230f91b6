/** `make gen`: writes every generated file. Files that are already right are left alone. */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ROOT } from './gen/file.ts';
import { contractFiles, schemaFiles, workflowFiles } from './gen/index.ts';

for (const { path, text } of [...(await contractFiles()), ...(await workflowFiles()), ...(await schemaFiles())]) {
  const file = join(ROOT, path);
  const now = await readFile(file, 'utf8').catch(() => undefined);
  if (now !== text) await writeFile(file, text);
  console.log(`${now === text ? 'same   ' : 'written'} ${path}`);
}
