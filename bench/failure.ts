/** Why a benchmark failed, in words: what it needs where a program or file is missing, else the message and its causes. */

type Failure = Error & Readonly<{ code?: unknown; path?: unknown; syscall?: unknown; stderr?: unknown }>;

const OUTPUT_LINES = 5;

/** The end of what a program wrote before it failed. */
const outputOf = ({ stderr }: Failure): string => {
  const text = typeof stderr === 'string' || Buffer.isBuffer(stderr) ? String(stderr).trim() : '';
  return text === '' ? '' : `\n${text.split('\n').slice(-OUTPUT_LINES).join('\n')}`;
};

const wordsOf = (error: Failure): string => {
  const { code, path, syscall } = error;
  if (code === 'ENOENT' && typeof path === 'string')
    return String(syscall).startsWith('spawn')
      ? `it needs the program ${path}, which is not installed`
      : `it needs ${path}, which does not exist`;
  if (code === 'EACCES' && typeof path === 'string') return `it needs access to ${path}`;
  return `${error.message.trim() || error.name}${outputOf(error)}`;
};

export const whyFailed = (error: unknown): string => {
  if (!(error instanceof Error)) return String(error);
  // The message of a group is empty; its errors are the reason.
  const causes = error instanceof AggregateError ? error.errors : error.cause === undefined ? [] : [error.cause];
  const reasons = causes.map((cause) => whyFailed(cause));
  const own = error instanceof AggregateError && error.message === '' ? [] : [wordsOf(error)];
  return [...new Set([...own, ...reasons])].join(': ');
};
