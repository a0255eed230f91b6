/** Part of the storm: every operation once as in its scenario, and variations. All of it is in `fuzz.slow.db.test.ts`. */
import { storm } from '../../test/storm.ts';

await storm(500);
