/** PostgreSQL refuses a network with bits after its prefix, so the API refuses it first. */
export const isNetwork = (network: string): boolean => {
  const [address = '', prefix = ''] = network.split('/');
  const bytes = address.split('.').map(Number);
  const value = bytes.reduce((sum, byte) => sum * 256 + byte, 0);
  return bytes.every((byte) => byte <= 255) && value % 2 ** (32 - Number(prefix)) === 0;
};
