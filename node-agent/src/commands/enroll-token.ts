/**
 * The enrollment token, from standard input or from a file that only its owner can read. Arguments and variables of a
 * process are visible to other processes of the host, so a token in either is refused: it counts as disclosed.
 */
import { type FileHandle, open } from 'node:fs/promises';
import { type Io, UsageError } from './io.ts';

/** An earlier build read the token from this variable. */
export const TOKEN_VARIABLE = 'GPUAAS_ENROLLMENT_TOKEN';
const TOKEN = /gpe_[A-Za-z0-9_-]{16,}/;
const FILE_BYTES_MAX = 4096;

const disclosed = (where: string): UsageError =>
  new UsageError(
    `The enrollment token was passed ${where}, where other processes can read it. Nothing was sent. Replace it: gpuaas admin node enroll <node>. Pass the new token on standard input or with --token-file FILE (mode 0600).`,
  );

/** Refuses a token among the arguments, whatever the option. The sentence does not repeat the token. */
export const refuseDisclosed = (argv: readonly string[], env: Io['env']): void => {
  if (argv.some((arg) => TOKEN.test(arg) || arg === '--token' || arg.startsWith('--token=')))
    throw disclosed('as an argument');
  if ((env[TOKEN_VARIABLE] ?? '') !== '') throw disclosed(`in ${TOKEN_VARIABLE}`);
};

const readPrivate = async (file: FileHandle, path: string): Promise<string> => {
  const { mode, uid } = await file.stat();
  if ((mode & 0o077) !== 0)
    throw new UsageError(`Other users can access ${path}. Run chmod 600 ${path} and repeat, or use a new token.`);
  const self = process.getuid?.();
  if (uid !== 0 && self !== undefined && uid !== self)
    throw new UsageError(`${path} belongs to another user. Use a file that you own.`);
  const { buffer, bytesRead } = await file.read(Buffer.alloc(FILE_BYTES_MAX), 0, FILE_BYTES_MAX, 0);
  return buffer.toString('utf8', 0, bytesRead);
};

const readFileToken = async (path: string): Promise<string> => {
  const file = await open(path, 'r').catch((err: NodeJS.ErrnoException) => {
    throw new UsageError(`${path} cannot be opened (${err.code ?? err.message}).`);
  });
  try {
    return await readPrivate(file, path);
  } finally {
    await file.close();
  }
};

/** `-` and no file: standard input, of which only the first line counts. */
export const readToken = async (io: Io, path: string | undefined): Promise<string> => {
  const isStdin = path === undefined || path === '-';
  const [token = ''] = (isStdin ? await io.readLine('Enrollment token: ') : await readFileToken(path))
    .trim()
    .split(/\s/);
  if (token === '') throw new UsageError(`${isStdin ? 'Standard input' : path} contains no token.`);
  return token;
};
