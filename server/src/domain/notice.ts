/**
 * What the tenants of a host learn of its alerts. The text of a notice is the `tenant_message` of an alert, written by the
 * agent or by an operator in a health override. A tenant never sees the host: a text that names the host, a device or an
 * address is refused from operators, and replaced by a general one where an agent reports it.
 */
import type { HealthAlert } from '@gpuaas/contract/node';

/** An alert about an allocation, with the names that its tenant must not read. */
export type NoticeFacts = Readonly<{ message: string; since: string; hidden: readonly string[] }>;
export type Notice = { message: string; since: string };

export const GENERAL_NOTICE = 'The host of this allocation reported a problem. Save your work.';
export const NAMES_HOST = 'names a host, a device or an address, which tenants must not see';

const HOST_FACTS = [
  // A PCI address, with or without its domain.
  /\b[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]\b/i,
  // A GPU UUID, an IPv4 address, a MAC address.
  /\bGPU-[0-9a-f]{8}/i,
  /\b\d{1,3}(\.\d{1,3}){3}\b/,
  /\b([0-9a-f]{2}:){5}[0-9a-f]{2}\b/i,
  // An IPv6 address, with all groups or with a gap; times of day do not match.
  /\b([0-9a-f]{1,4}:){7}[0-9a-f]{1,4}\b/i,
  /(^|[^0-9a-z:])([0-9a-f]{1,4}:){0,6}[0-9a-f]{0,4}::[0-9a-f]{0,4}/i,
  // A device file, or the name of a disk.
  /\/dev\//,
  /\bnvme\d/i,
];
/** Characters without a shape of their own: controls, and marks that change the direction or hide text. */
const SHAPELESS = /[\p{Cc}\p{Cf}\u2028\u2029]+/gu;
/** The target of an alert about the whole host. */
export const WHOLE_HOST = 'node';

/** Also as people read it: without what hides between its letters, and with wide and other forms as plain ones. */
export const namesHost = (text: string, hidden: readonly string[]): boolean =>
  [text, text.replace(SHAPELESS, '').normalize('NFKC')].some((reading) => {
    const lower = reading.toLowerCase();
    return (
      HOST_FACTS.some((fact) => fact.test(reading)) ||
      hidden.some((name) => name !== '' && name !== WHOLE_HOST && lower.includes(name.toLowerCase()))
    );
  });

/** The first message of these alerts that names the host; null if none does. */
export const messageNamingHost = (
  alerts: readonly Pick<HealthAlert, 'target' | 'tenant_message'>[],
  hidden: readonly string[],
): string | null =>
  alerts.find(({ target, tenant_message }) => tenant_message !== null && namesHost(tenant_message, [...hidden, target]))
    ?.tenant_message ?? null;

const textOf = ({ message, hidden }: NoticeFacts): string => {
  const text = message.replace(SHAPELESS, ' ').replace(/ +/g, ' ').trim();
  return text === '' || namesHost(message, hidden) || namesHost(text, hidden) ? GENERAL_NOTICE : text;
};

/** One notice per text, with the earliest time; oldest first. */
export const noticesOf = (facts: readonly NoticeFacts[]): Notice[] => {
  const since = new Map<string, string>();
  for (const each of facts) {
    const text = textOf(each);
    const known = since.get(text);
    if (known === undefined || Date.parse(each.since) < Date.parse(known)) since.set(text, each.since);
  }
  return [...since]
    .map(([message, at]) => ({ message, since: new Date(at).toISOString() }))
    .sort((a, b) => (a.since + a.message < b.since + b.message ? -1 : 1));
};

/** The texts that began and ended between two readings; null if none did. */
export const noticeChange = (
  before: readonly Notice[],
  after: readonly Notice[],
): Readonly<{ began: string[]; ended: string[] }> | null => {
  const missing = (from: readonly Notice[], among: readonly Notice[]): string[] =>
    from.filter(({ message }) => !among.some((other) => other.message === message)).map(({ message }) => message);
  const [began, ended] = [missing(after, before), missing(before, after)];
  return began.length + ended.length === 0 ? null : { began, ended };
};
