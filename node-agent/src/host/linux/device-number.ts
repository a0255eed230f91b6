/** Device numbers as the kernel packs them for user space, written as sysfs writes them. */
export const majorMinorOf = (rdev: number): string => {
  const wide = BigInt(rdev);
  const major = ((wide >> 8n) & 0xfffn) | ((wide >> 32n) & ~0xfffn);
  const minor = (wide & 0xffn) | ((wide >> 12n) & ~0xffn);
  return `${major}:${minor & 0xffffffffn}`;
};
