/**
 * The steps from an empty database to the first launch, as a table of pure judgements. A step is done when the data of the
 * site says so, however it was done: no progress is stored, so setting up may stop, and continue later or elsewhere.
 * The first open step that is not optional is the next one; those after it wait for it.
 */
import type { SetupStepKey, SetupStepState } from '@gpuaas/contract';

export type SetupFacts = Readonly<{
  issuer: Readonly<{ url: string; is_embedded: boolean }>;
  /** How many addresses GPUAAS_SUPERADMIN_EMAILS has. */
  superadmin_emails: number;
  /** Users who have signed in, and active superadmins among them; counts end at two. */
  users: number;
  superadmins: number;
  /** Purposes with an active key. */
  trust_purposes: readonly string[];
  newest_backup_at: string | null;
  /** Enabled ones; counts end at two. */
  regions: number;
  skus: number;
  priced_skus: number;
  /** Enabled ones of slices, the first by name: a GPU count has no default VM profile; no image is stable and verified. */
  sku_without_profile: string | null;
  sku_without_image: string | null;
  /** As above: no host of an enabled region has fetched such an image. */
  sku_without_default_image: string | null;
  region_name: string | null;
  sku_name: string | null;
  /** Null where this build has no sign-up policy. */
  sign_up: Readonly<{ policy: string; is_decided: boolean }> | null;
  /** Not retired ones; counts end at two. */
  nodes: number;
  newest_node: string | null;
  enrolled_nodes: number;
  discovered_nodes: number;
  approved_nodes: number;
  has_launched: boolean;
}>;

export type SetupStep = Readonly<{
  key: SetupStepKey;
  label: string;
  state: SetupStepState;
  detail: string;
  command: string | null;
}>;

type Judgement = Readonly<{ isDone: boolean; detail: string }>;
const done = (detail: string): Judgement => ({ isDone: true, detail });
const open = (detail: string): Judgement => ({ isDone: false, detail });

type Declared = Readonly<{
  key: SetupStepKey;
  label: string;
  isOptional?: true;
  judge(facts: SetupFacts): Judgement;
  command(facts: SetupFacts): string;
}>;

const TRUST_PURPOSES = ['node_ca', 'task_signer', 'certificate_signer'];

const missingOf = (facts: SetupFacts): string[] => [
  ...(facts.regions === 0 ? ['an enabled region'] : []),
  ...(facts.skus === 0 ? ['an enabled SKU'] : []),
  ...(facts.skus > 0 && facts.priced_skus === 0 ? ['a price'] : []),
  ...(facts.sku_without_profile === null
    ? []
    : [`a default VM profile for each GPU count of ${facts.sku_without_profile}`]),
  ...(facts.sku_without_image === null ? [] : [`a stable and verified image for ${facts.sku_without_image}`]),
];

const nodeName = ({ newest_node }: SetupFacts): string => newest_node ?? 'NODE';

const STEPS: readonly Declared[] = [
  {
    key: 'sign_in',
    label: 'Sign-in',
    judge: ({ issuer, users }) => {
      if (users === 0) return open(`No user has signed in at ${issuer.url} yet.`);
      return done(issuer.is_embedded ? 'The embedded issuer of development.' : `Users sign in at ${issuer.url}.`);
    },
    command: () => 'gpuaas login',
  },
  {
    key: 'superadmin',
    label: 'First superadmin',
    judge: ({ superadmins, superadmin_emails }) => {
      if (superadmins > 0)
        return done(superadmins === 1 ? 'There is one superadmin.' : 'There are several superadmins.');
      return open(
        superadmin_emails === 0
          ? 'GPUAAS_SUPERADMIN_EMAILS names no address. Set it for gpuaas-api, restart it and sign in with that address.'
          : 'No user with an address of GPUAAS_SUPERADMIN_EMAILS has signed in. The issuer must state the address as verified.',
      );
    },
    command: () => 'gpuaas login',
  },
  {
    key: 'trust_keys',
    label: 'Trust keys',
    judge: ({ trust_purposes }) => {
      const missing = TRUST_PURPOSES.filter((purpose) => !trust_purposes.includes(purpose));
      if (missing.length === 0) return done('The CA of nodes and the signers of tasks and wipe certificates exist.');
      return open(
        `Missing: ${missing.join(', ')}. gpuaas-node-api with GPUAAS_TRUST_KEY and gpuaas-provisioning-worker create them when they start.`,
      );
    },
    command: () => 'gpuaas admin trust list',
  },
  {
    key: 'backups',
    label: 'Backups',
    isOptional: true,
    judge: ({ newest_backup_at }) =>
      newest_backup_at === null
        ? open('No backup is recorded. Let the backup job record each backup; the site check warns until it does.')
        : done(`The newest recorded backup has the data of ${newest_backup_at}.`),
    command: () => 'gpuaas admin backup record --taken-at TIME --location WHERE',
  },
  {
    key: 'catalog',
    label: 'Catalog',
    judge: (facts) => {
      const missing = missingOf(facts);
      return missing.length === 0
        ? done('Regions and SKUs with prices, VM profiles and images are there.')
        : open(`Missing: ${missing.join(', ')}.`);
    },
    command: () => 'gpuaas admin site plan -f site.yaml',
  },
  {
    key: 'sign_up',
    label: 'Sign-up policy',
    isOptional: true,
    judge: ({ sign_up }) => {
      if (sign_up === null) return open('Everyone who can sign in at the issuer gets an organization.');
      if (sign_up.is_decided) return done(`Sign-up is ${sign_up.policy}.`);
      return open(`Sign-up is ${sign_up.policy}, the default. Decide who may sign up, and with which GPU limit.`);
    },
    command: () => 'gpuaas admin site plan -f site.yaml',
  },
  {
    key: 'node_created',
    label: 'Create the first node',
    judge: ({ nodes, newest_node }) => {
      if (newest_node === null) return open('No host is registered as a node.');
      return done(nodes === 1 ? `Node ${newest_node} exists.` : `Several nodes exist, the newest is ${newest_node}.`);
    },
    command: ({ region_name }) =>
      `gpuaas admin node create NAME --region ${region_name ?? 'REGION'} --gpu-model MODEL --gpus 8 --mode slice --serial SERIAL`,
  },
  {
    key: 'node_enrolled',
    label: 'Enroll its agent',
    judge: (facts) =>
      facts.enrolled_nodes > 0
        ? done('An agent has connected.')
        : open(
            `No agent has connected. Run the install command of node ${nodeName(facts)} on the host, as root; a new token ends the earlier one.`,
          ),
    command: (facts) => `gpuaas admin node enroll ${nodeName(facts)} --reason setup`,
  },
  {
    key: 'node_discovered',
    label: 'Discover its hardware',
    judge: ({ discovered_nodes }) =>
      discovered_nodes > 0
        ? done('The hardware of a node was scanned.')
        : open('No hardware scan has completed. Discovery proposes slots; no tenant gets them before approval.'),
    command: (facts) => `gpuaas admin node discover ${nodeName(facts)}`,
  },
  {
    key: 'node_approved',
    label: 'Approve its slots',
    judge: (facts) =>
      facts.approved_nodes > 0
        ? done('A node has approved hardware.')
        : open(
            `No slot is approved. Compare the candidates with the host first: gpuaas admin node candidates ${nodeName(facts)}`,
          ),
    command: (facts) => `gpuaas admin slot approve ${nodeName(facts)} --all`,
  },
  {
    key: 'first_launch',
    label: 'First launch',
    judge: ({ has_launched, sku_without_default_image: sku }) => {
      if (has_launched) return done('An allocation was active.');
      return open(
        sku === null
          ? 'Nothing was launched yet. Launch, connect and release once before tenants do.'
          : `No host has fetched an image for ${sku} yet. An active host fetches it automatically. Show what is missing: gpuaas admin image list`,
      );
    },
    command: ({ region_name, sku_name }) =>
      `gpuaas launch NAME --sku ${sku_name ?? 'SKU'} --region ${region_name ?? 'REGION'} --gpus 1 --wait`,
  },
];

export const setupSteps = (facts: SetupFacts): SetupStep[] => {
  const judged = STEPS.map((step) => ({ step, ...step.judge(facts) }));
  const next = judged.find(({ step, isDone }) => !isDone && step.isOptional !== true);
  return judged.map((one) => {
    const { step, isDone, detail } = one;
    const { key, label } = step;
    if (isDone) return { key, label, state: 'done', detail, command: null };
    const state = step.isOptional === true ? 'optional' : one === next ? 'next' : 'blocked';
    return { key, label, state, detail, command: step.command(facts) };
  });
};
