/** Part of the storm; all of it, and which operations it must reach, is in `fuzz.slow.db.test.ts`. */
import { storm } from '../../test/storm.ts';

await storm({ requests: 2_500, judge: () => {} });
