/** The command line was not understood: told with a pointer to the help, exit code 2. */
export class UsageError extends Error {
  override name = 'UsageError';
}
