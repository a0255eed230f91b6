/** Names of migrations that tests add after those of this build. */
import { numberOf } from '../src/db/migration-file.ts';

export const nextName = (name: string): string => `${String(numberOf(name) + 1).padStart(4, '0')}_next.sql`;
