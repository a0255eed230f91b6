/** The command line was invalid: reported with a pointer to the help, exit code 2. */
export class UsageError extends Error {
  override name = 'UsageError';
}
