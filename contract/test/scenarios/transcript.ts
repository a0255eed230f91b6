/**
 * The responses without values that differ between runs: ids, times and digests become their order of appearance, and
 * the few implementation-specific fields are omitted, each with its reason.
 */
import { EXPECTED_REASON } from '../../src/public/capacity.ts';
import { type Json, MEMBERS, type Place, type Recorded } from './scenario.ts';

/** Fields that may differ. */
const OWN: ReadonlySet<string> = new Set([
  // Depends on the time of the read.
  'progress',
  'cost_so_far',
  'last_used_at',
  'counted_at',
  'expected',
  // From earlier scenes in other regions, which one keeps and the other deletes.
  'nodes_total',
  'wipe_minimum',
  // Secrets.
  'client_secret',
  'token',
  'token_prefix',
  'access_token',
  'ticket',
  'url',
  'install_command',
  'node_api_url',
  // Of hosts that one implementation has and the other simulates.
  'ssh',
  'image_digest',
  'private_ip',
  'mac_address',
  'gpu_pci_address',
  'reports',
  'boot_id',
  'clock_skew_ms',
  'ca_sha256',
  'fabric_vf_pci_address',
  'nvme_serial',
  'module_id',
  'numa_node',
  'generation',
  'health_detail',
  'host_generation',
  'last_seen_at',
  'is_connected',
  'reconciled_at',
  'issuer',
  'subject',
  'wiped_at',
  'wipe_proof_id',
  'last_claimed_at',
  'name',
  'display_name',
  'pool_name',
  'email',
  // Counts writes, and the mock writes less often.
  'version',
  'correlation_id',
  'instance',
  'type',
  'href',
  'owner',
]);

const ID = /\b[a-z]{3}_[0-9a-hjkmnp-tv-z]{26}\b/g;
const TIME = /^\d{4}-\d\d-\d\dT[\d:.]+Z$/;
const ETAG = /"v\d+"/g;
const DIGEST = /^(?:sha256:)?[0-9a-f]{64}$/;

/** What is expected depends on when the counters were read. */
const isExpected = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && 'code' in value && value.code === EXPECTED_REASON;

export const transcriptOf = ({ place, heard }: Readonly<{ place: Place; heard: readonly Recorded[] }>): Json => {
  const ids = new Map<string, string>();
  const idOf = (id: string): string => {
    const known = ids.get(id) ?? `${id.slice(0, 3)}-${ids.size + 1}`;
    ids.set(id, known);
    return known;
  };
  const named = MEMBERS.flatMap((one) => {
    const { name, email } = place.users[one];
    return [[email, `<mail of ${one}>`] as const, [name, `<${one}>`] as const];
  });
  const nameless = (text: string): string => named.reduce((rest, [of, is]) => rest.replaceAll(of, is), text);
  const plain = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.filter((one) => !isExpected(one)).map(plain);
    if (typeof value === 'object' && value !== null)
      return Object.fromEntries(
        Object.entries(value)
          .filter(([name]) => !OWN.has(name))
          .toSorted(([a], [b]) => (a < b ? -1 : 1))
          .map(([name, field]) => [name, plain(field)]),
      );
    if (typeof value !== 'string') return value;
    if (TIME.test(value)) return '<time>';
    if (DIGEST.test(value)) return '<digest>';
    const anonymous = nameless(value).replaceAll(place.region_name, '<region>');
    return anonymous
      .replaceAll(place.region_name.replaceAll('-', '_'), '<region>')
      .replaceAll(ETAG, '<etag>')
      .replaceAll(ID, idOf);
  };
  // A list may hold items outside the scene.
  const isList = (operation: string, status: number): boolean => operation.endsWith('List') && status === 200;
  return heard.map(({ as, operation, status, body }) => ({
    as,
    operation,
    status,
    body: isList(operation, status) ? null : plain(body),
  }));
};
