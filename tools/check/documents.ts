/**
 * Every path that a document names exists. A path is code in backticks: a file with a slash and a known ending, or a
 * directory that ends in a slash; `{a,b}` stands for each of its words. It is looked up from the root, and as the end of a
 * path, because documents of one package name files below it.
 */
import { type Check, verdict } from './check.ts';
import { readText, repositoryFiles } from './files.ts';

const CODE = /`([a-z.][\w.{},-]*(?:\/[\w.{},-]+)*\/?)`/g;
const PATH =
  /^[\w.-]+(?:(?:\/[\w.-]+)*\/|(?:\/[\w.-]+)+\.(?:ts|tsx|mjs|cjs|sql|md|sh|yaml|json|jsonc|txt|service|css))$/;
const LINK = /\]\((?!https?:|#|mailto:)([^)#\s]+)/g;

/** `a/{b,c}.ts` is `a/b.ts` and `a/c.ts`. */
const expand = (path: string): string[] => {
  const [all, before = '', words = '', after = ''] = /^(.*?)\{([^{}]*)\}(.*)$/.exec(path) ?? [];
  return all === undefined ? [path] : words.split(',').flatMap((word) => expand(`${before}${word}${after}`));
};

export const pathsIn = (text: string): string[] =>
  [...text.matchAll(CODE)].flatMap(([, code = '']) => expand(code)).filter((path) => PATH.test(path));

const linksIn = (file: string, text: string): string[] =>
  [...text.matchAll(LINK)].flatMap((match) => {
    const target = new URL(match[1] ?? '', `file:///${file}`).pathname.slice(1);
    return target === '' ? [] : [decodeURIComponent(target)];
  });

/** What `make` writes and git does not track. */
const isBuilt = (path: string): boolean => path.startsWith('dist/') || path.startsWith('.gpuaas/');

/** On a host: directories of the state of the server and the agents, and the files of a recording. */
const isOnHost = (path: string): boolean =>
  ['agent/', 'disks/', 'faults/', 'machine/'].includes(path) || path.startsWith('commands/');

export const missingPaths = (file: string, text: string, files: readonly string[]): string[] => {
  const known = new Set(files);
  const isNamed = (path: string): boolean =>
    files.some((one) => (path.endsWith('/') ? `/${one}`.includes(`/${path}`) : `/${one}`.endsWith(`/${path}`)));
  const isDirectory = (path: string): boolean => files.some((one) => one.startsWith(`${path.replace(/\/$/, '')}/`));
  return [
    ...pathsIn(text).filter((path) => !isBuilt(path) && !isOnHost(path) && !isNamed(path)),
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
