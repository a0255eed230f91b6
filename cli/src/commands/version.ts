import { command } from '../command.ts';
import { VERSION } from '../version.ts';

export const version = command({
  name: 'version',
  summary: 'Show the version of this CLI',
  run: async ({ out }) => {
    const facts = {
      version: VERSION,
      node_version: process.versions.node,
      platform: `${process.platform}-${process.arch}`,
    };
    if (out.json) out.item(facts);
    else out.print(`gpuaas ${facts.version} (Node ${facts.node_version}, ${facts.platform})`);
  },
});
