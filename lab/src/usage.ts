/** The command line was invalid: reported with a pointer to the help, exit code 2. */
export class UsageError extends Error {
  override name = 'UsageError';
}

export const oneOf = <T extends string>(flag: string, names: readonly T[], given: string): T => {
  const found = names.find((name) => name === given);
  if (found === undefined) throw new UsageError(`${flag} is one of ${names.join(', ')}, not "${given}".`);
  return found;
};
