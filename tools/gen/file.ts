/** A generated file: `make gen` writes it, `make check` compares it with what is committed. */
import { fileURLToPath } from 'node:url';

export type Generated = Readonly<{ path: string; text: string }>;
export const ROOT = fileURLToPath(new URL('../../', import.meta.url));
