import { storm } from '../../test/storm.ts';

await storm(10_500);
