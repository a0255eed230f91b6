import manifest from '../package.json' with { type: 'json' };

export const VERSION: string = manifest.version;

/** How audit rows and access logs name this tool. */
export const USER_AGENT = `gpuaas-cli/${VERSION} node/${process.versions.node}`;
