/**
 * The software bill of materials, CycloneDX 1.6 as JSON, made from the lockfile alone: the same lockfile gives the same
 * bytes. Packages that only development needs are `excluded`, as the standard calls what does not ship.
 */
import { createHash } from 'node:crypto';
import { type LockedPackage, type LockedPackages, nameOf } from './lockfile.ts';

type License = Readonly<{ license: { id: string } | { name: string } } | { expression: string }>;
type Component = Readonly<{
  type: 'application' | 'library';
  'bom-ref': string;
  name: string;
  version: string;
  purl: string;
  scope: 'required' | 'optional' | 'excluded';
  licenses?: readonly License[];
  hashes?: readonly Readonly<{ alg: 'SHA-512'; content: string }>[];
}>;
export type Sbom = Readonly<{
  bomFormat: 'CycloneDX';
  specVersion: '1.6';
  serialNumber: string;
  version: 1;
  metadata: Readonly<{ component: Omit<Component, 'scope'> }>;
  components: readonly Component[];
  dependencies: readonly Readonly<{ ref: string; dependsOn: readonly string[] }>[];
}>;

const purlOf = (name: string, version: string): string => `pkg:npm/${name.replace('@', '%40')}@${version}`;

const licensesOf = (license: string): License => {
  if (/ (?:OR|AND|WITH) /.test(license)) return { expression: license.replace(/^\((.*)\)$/, '$1') };
  return {
    license: /^[A-Za-z0-9.+-]+$/.test(license) && license !== 'UNLICENSED' ? { id: license } : { name: license },
  };
};

const scopeOf = ({ dev, optional, devOptional }: LockedPackage): Component['scope'] =>
  dev === true ? 'excluded' : optional === true || devOptional === true ? 'optional' : 'required';

const componentOf = (path: string, one: LockedPackage): Component => {
  const isOurs = !path.includes('node_modules/');
  const name = one.name ?? nameOf(path);
  const version = one.version ?? '0.0.0';
  const digest = /^sha512-(.+)$/.exec(one.integrity ?? '')?.[1];
  return {
    type: isOurs ? 'application' : 'library',
    'bom-ref': purlOf(name, version),
    name,
    version,
    purl: purlOf(name, version),
    scope: scopeOf(one),
    ...(one.license === undefined ? {} : { licenses: [licensesOf(one.license)] }),
    ...(digest === undefined
      ? {}
      : { hashes: [{ alg: 'SHA-512', content: Buffer.from(digest, 'base64').toString('hex') }] }),
  };
};

/** The package that Node resolves for the one at `path`, in npm's layout. */
const resolve = (packages: LockedPackages, path: string, name: string): string | undefined => {
  for (let at = path; ; at = at.slice(0, Math.max(0, at.lastIndexOf('/')))) {
    const found = `${at === '' ? '' : `${at}/`}node_modules/${name}`;
    if (packages[found] !== undefined) return found;
    if (at === '') return undefined;
  }
};

/** A link leads to the workspace of that name. */
const followLink = (packages: LockedPackages, path: string): string =>
  packages[path]?.link === true
    ? (Object.keys(packages).find((one) => packages[one]?.name === nameOf(path)) ?? path)
    : path;

const SCOPES: readonly Component['scope'][] = ['required', 'optional', 'excluded'];
const byRef = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

export const sbomOf = (packages: LockedPackages): Sbom => {
  const components = new Map<string, Component>();
  const dependencies = new Map<string, Set<string>>();
  const refAt = new Map(Object.entries(packages).map(([path, one]) => [path, componentOf(path, one)['bom-ref']]));
  for (const [path, one] of Object.entries(packages)) {
    if (one.link === true) continue;
    const made = componentOf(path, one);
    const before = components.get(made['bom-ref']);
    // One version at several places ships if any of them does.
    if (before === undefined || SCOPES.indexOf(made.scope) < SCOPES.indexOf(before.scope))
      components.set(made['bom-ref'], made);
    const asked = Object.keys({ ...one.dependencies, ...one.optionalDependencies, ...one.peerDependencies });
    const found = asked.flatMap((name) => resolve(packages, path, name) ?? []);
    const refs = found.flatMap((at) => refAt.get(followLink(packages, at)) ?? []);
    dependencies.set(made['bom-ref'], new Set([...(dependencies.get(made['bom-ref']) ?? []), ...refs]));
  }
  const { scope: _, ...root } = componentOf('', packages[''] ?? {});
  components.delete(root['bom-ref']);
  const listed = [...components.values()].toSorted((a, b) => byRef(a['bom-ref'], b['bom-ref']));
  const hash = createHash('sha256').update(JSON.stringify(listed)).digest('hex');
  const uuid = `${hash.slice(0, 8)}-${hash.slice(8, 12)}-5${hash.slice(13, 16)}-8${hash.slice(17, 20)}-${hash.slice(20, 32)}`;
  return {
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    serialNumber: `urn:uuid:${uuid}`,
    version: 1,
    metadata: { component: root },
    components: listed,
    dependencies: [...dependencies]
      .toSorted(([a], [b]) => byRef(a, b))
      .map(([ref, refs]) => ({ ref, dependsOn: [...refs].toSorted(byRef) })),
  };
};
