/**
 * Records what discovery reads, so that it can run again elsewhere: every file, link and listing below the same path,
 * and program output under `commands/`. Serials, UUIDs, MACs, GUIDs and host names are replaced, each by the same
 * placeholder everywhere.
 */
import { createHash } from 'node:crypto';
import { lstat, mkdir, readlink, rm, symlink, writeFile } from 'node:fs/promises';
import { dirname, join, normalize } from 'node:path';
import type { Files } from './files.ts';
import type { Run } from './run.ts';

const short = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 12).toUpperCase();
const UUID = /\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/gi;
const MAC = /\b(?:[0-9a-f]{2}:){5}[0-9a-f]{2}\b/gi;
const GUID = /\b[0-9a-f]{4}(?::[0-9a-f]{4}){3}\b/gi;
const XML_SECRETS = /<(serial|chassis_serial_number|gpu_fabric_guid|board_part_number|gpu_part_number)>[^<]*</g;
const KEPT_NAMES = /^(?:ro|rw|quiet)$|iommu|hugepage|vfio|^pci=|^isolcpus=|^mitigations=/;
/** Efivars are named by a UUID that does not identify the host. */
const isVariable = (path: string): boolean => path.includes('/efivars/');

const redact = (path: string, text: string): string => {
  if (path.endsWith('/hostname')) return 'recorded-host\n';
  // The kernel command line can contain anything, also secrets; only the parts that discovery reads are kept.
  if (path === '/proc/cmdline')
    return `${text
      .split(/\s+/)
      .filter((word) => KEPT_NAMES.test(word))
      .join(' ')}\n`;
  if (path === '/proc/stat') return `${/^btime .*$/m.exec(text)?.[0] ?? ''}\n`;
  // Of mounts only those of block devices matter.
  if (path.endsWith('/mountinfo')) return text.replace(/^(?!.* - \S+ \/dev\/).*\n/gm, '');
  if (/\/(?:serial|wwid|eui)$/.test(path)) return `SN${short(text.trim())}\n`;
  return text
    .replace(/<processes>[\s\S]*?<\/processes>/g, '<processes></processes>')
    .replace(XML_SECRETS, '<$1>REDACTED<')
    .replace(UUID, (found) => `00000000-0000-4000-8000-${short(found).toLowerCase()}`)
    .replace(MAC, (found) =>
      /^[0:]+$/.test(found)
        ? found
        : `02:${short(found)
            .toLowerCase()
            .slice(0, 10)
            .replace(/(..)(?!$)/g, '$1:')}`,
    )
    .replace(GUID, (found) =>
      /^[0:]+$/.test(found)
        ? found
        : `0000:0000:${short(found)
            .toLowerCase()
            .slice(0, 8)
            .replace(/(....)(?!$)/, '$1:')}`,
    );
};

/** Links of /dev/disk/by-id contain model and serial. */
const redactName = (folder: string, name: string): string =>
  folder === '/dev/disk/by-id' ? `${name.split(/[-_.]/)[0]}-${short(name)}` : name;

const linkOf = (path: string): Promise<string | null> => readlink(path).catch(() => null);

export const createRecorder = (live: Readonly<{ files: Files; run: Run }>, into: string) => {
  const put = async (path: string, content: string | Buffer): Promise<void> => {
    await mkdir(dirname(join(into, path)), { recursive: true });
    await writeFile(join(into, path), content);
  };
  const putLink = async (path: string, target: string): Promise<void> => {
    const at = join(into, dirname(path), redactName(dirname(path), path.split('/').at(-1) ?? ''));
    await mkdir(dirname(at), { recursive: true });
    await rm(at, { force: true, recursive: true });
    await symlink(target, at);
  };
  /** Follows a path link by link, recording each, to its content. */
  const follow = async (path: string): Promise<string> => {
    let rest = normalize(path).split('/').filter(Boolean);
    let at = '/';
    for (let hops = 0; rest.length > 0 && hops < 200; hops += 1) {
      const [next = '', ...more] = rest;
      const here = join(at, next);
      const target = await linkOf(here);
      if (target === null) {
        at = here;
        rest = more;
      } else {
        await putLink(here, target);
        rest = [...normalize(join(at, target)).split('/').filter(Boolean), ...more];
        at = '/';
      }
    }
    return at;
  };
  const keepFolder = async (path: string, names: readonly string[]): Promise<void> => {
    const at = await follow(path);
    await put(join(at, '.keep'), '');
    for (const name of names) {
      const child = join(at, name);
      const target = await linkOf(child);
      if (target !== null) await putLink(child, target);
      else if ((await lstat(child)).isDirectory()) await put(join(child, '.keep'), '');
      else await put(child, '');
    }
  };
  const keepFile = async (path: string, content: Buffer): Promise<void> => {
    const at = await follow(path);
    const text = content.toString('utf8');
    await put(at, isVariable(path) || text.includes('\0') ? content : redact(path, text));
  };
  /** One after the other: two readers of one directory would otherwise race for its links. */
  let last: Promise<unknown> = Promise.resolve();
  const inTurn = (keep: () => Promise<void>): Promise<void> => {
    const next = last.then(keep);
    last = next.catch(() => undefined);
    return next;
  };

  const findBytes = async (path: string): Promise<Buffer | null> => {
    const content = await live.files.findBytes(path);
    if (content !== null) await inTurn(() => keepFile(path, content));
    return content;
  };
  const find = async (path: string): Promise<string | null> =>
    (await findBytes(path))?.toString('utf8').trimEnd() ?? null;
  const files: Files = {
    ...live.files,
    find,
    findBytes,
    text: async (path) => (await find(path)) ?? live.files.text(path),
    names: async (path, like) => {
      const names = await live.files.names(path, like);
      await inTurn(() => keepFolder(path, names));
      return names;
    },
    findNames: async (path, like) => {
      const names = await live.files.findNames(path, like);
      if (names !== null) await inTurn(() => keepFolder(path, names));
      return names;
    },
    findLink: async (path) => {
      const target = await live.files.findLink(path);
      if (target !== null) await inTurn(() => putParent(path, target));
      return target;
    },
    findReal: async (path) => {
      const real = await live.files.findReal(path);
      if (real !== null) await inTurn(async () => void (await follow(path)));
      return real;
    },
    exists: async (path) => {
      const is = await live.files.exists(path);
      if (is) await inTurn(() => keepExisting(path));
      return is;
    },
  };
  const putParent = async (path: string, target: string): Promise<void> =>
    putLink(join(await follow(dirname(path)), path.split('/').at(-1) ?? ''), target);
  const keepExisting = async (path: string): Promise<void> => {
    const at = await follow(path);
    if ((await lstat(at)).isDirectory()) await put(join(at, '.keep'), '');
    else if ((await lstat(join(into, at)).catch(() => null)) === null) await put(at, '');
  };
  const run: Run = async (command) => {
    const ran = await live.run(command);
    if (command.recorded !== 'tools.json' && (ran.status === 0 || ran.stdout !== ''))
      await inTurn(() => put(`/commands/${command.recorded}`, redact('', ran.stdout)));
    return ran;
  };
  /** Versions are many small commands; they are recorded as one file. */
  const finish = (tools: unknown): Promise<void> => put('/commands/tools.json', `${JSON.stringify(tools, null, 2)}\n`);
  return { files, run, finish };
};
