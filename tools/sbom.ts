/** `make sbom`: writes the software bill of materials to dist/sbom.cdx.json. */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ROOT } from './gen/file.ts';
import { readLockfile } from './lockfile/lockfile.ts';
import { sbomOf } from './lockfile/sbom.ts';

const bom = sbomOf(await readLockfile());
await mkdir(join(ROOT, 'dist'), { recursive: true });
await writeFile(join(ROOT, 'dist/sbom.cdx.json'), `${JSON.stringify(bom, null, 2)}\n`);
console.log(`dist/sbom.cdx.json: ${bom.components.length} components`);
