/** Part of the storm; all of it is in `fuzz.slow.db.test.ts`. */
import { storm } from '../../test/storm.ts';

await storm(1_000);
