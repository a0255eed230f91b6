/**
 * The agent of the host tier, as a process: the real one, on the host that its file describes. It enrolls if necessary
 * and runs until it is stopped or killed; after a restart it continues from its journal.
 */
import { mkdirSync, readFileSync } from 'node:fs';
import { type AgentConfig, createAgent, enroll, handlers, readEnrollment } from '../../../node-agent/src/index.ts';
import { type ComposedSpec, openComposedHost } from '../../../node-agent/test/composed-open.ts';

/** Its configuration file. */
export type AgentFile = Readonly<{
  host: ComposedSpec;
  state: string;
  hostname: string;
  door: Readonly<{ token: string; ca_sha256: string; node_api_url: string }>;
  limits_s?: NonNullable<AgentConfig['limits_s']>;
}>;

const VERSION = '0.1.0';

const [path = ''] = process.argv.slice(2);
const file = JSON.parse(readFileSync(path, 'utf8')) as AgentFile;
const { door, state } = file;
const url = new URL(door.node_api_url);
const host = openComposedHost(file.host);

mkdirSync(state, { recursive: true, mode: 0o700 });
if ((await readEnrollment(state).catch(() => undefined)) === undefined) {
  const { boot_id, booted_at } = await host.system.facts();
  const status = {
    agent_version: VERSION,
    boot_id,
    booted_at,
    kinds: [...host.kinds],
    host: await host.system.identity(),
  };
  const { token, ca_sha256 } = door;
  await enroll({ url, ca_sha256, token, state, hostname: file.hostname, status });
}
const agent = await createAgent({
  host,
  handlers,
  config: {
    url,
    state,
    version: VERSION,
    retry: { baseMs: 100, capMs: 1_000 },
    health: { interval_ms: 5_000, every_ms: 30_000 },
    ...(file.limits_s === undefined ? {} : { limits_s: file.limits_s }),
  },
}).start();
await agent.reached;
process.stdout.write('reached\n');
process.once('SIGTERM', () => void agent.stop().then(() => process.exit(0)));
