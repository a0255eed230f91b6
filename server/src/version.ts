/** The release of this server: its package's. */
import own from '../package.json' with { type: 'json' };

export const VERSION: string = own.version;
