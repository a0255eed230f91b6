/**
 * Every path that a document names exists. A path is code in backticks with a slash and a known ending; it is looked up
 * from the root, and as the end of a path, because documents of one package name files below it.
 */
import { type Check, verdict } from './check.ts';
import { readText, repositoryFiles } from './files.ts';

const PATH = /`([a-z.][\w.-]*(?:\/[\w.-]+)+\.(?:ts|tsx|mjs|sql|md|sh|yaml|json))`/g;
const LINK = /\]\((?!https?:|#|mailto:)([^)#\s]+)/g;

export const pathsIn = (text: string): string[] => [...text.matchAll(PATH)].flatMap((match) => match[1] ?? []);

const linksIn = (file: string, text: string): string[] =>
  [...text.matchAll(LINK)].flatMap((match) => {
    const target = new URL(match[1] ?? '', `file:///${file}`).pathname.slice(1);
    return target === '' ? [] : [decodeURIComponent(target)];
  });

/** Files that `make` writes and git does not track. */
const isBuilt = (path: string): boolean => path.startsWith('dist/') || path.startsWith('.gpuaas/');

export const missingPaths = (file: string, text: string, files: readonly string[]): string[] => {
  const known = new Set(files);
  const isFile = (path: string): boolean => known.has(path) || files.some((one) => one.endsWith(`/${path}`));
  const isDirectory = (path: string): boolean => files.some((one) => one.startsWith(`${path.replace(/\/$/, '')}/`));
  return [
    ...pathsIn(text).filter((path) => !isBuilt(path) && !isFile(path)),
    ...linksIn(file, text).filter((path) => !known.has(path) && !isDirectory(path)),
  ];
};

export const documentPaths: Check = {
  name: 'paths in documents',
  run: async () => {
    const files = await repositoryFiles();
    const documents = files.filter((file) => file.endsWith('.md'));
    const findings: string[] = [];
    for (const file of documents)
      for (const path of missingPaths(file, await readText(file), files))
        findings.push(`${file}: ${path} does not exist`);
    return verdict(findings, `${documents.length} documents`);
  },
};
