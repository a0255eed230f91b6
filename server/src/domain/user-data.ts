/** User data is counted in bytes, as cloud-init and the host count it; the contract can count characters only. */
const BYTES_MAX = 65_536;

/** Why the text cannot be used, or null. */
export const userDataProblem = (text: string): string | null => {
  if (!text.isWellFormed()) return 'is not text';
  return new TextEncoder().encode(text).length > BYTES_MAX ? `is larger than ${BYTES_MAX} bytes` : null;
};
