/** Names and keys of SSH access. */

/** The host name that `gpuaas ssh-config --write` configures for ssh. */
export const sshHostName = (name: string): string => `gpuaas-${name}`;

/** `SHA256:…` as ssh prints it when it first sees the key; null if the browser cannot compute it or the key is invalid. */
export const hostKeyFingerprint = async (hostKey: string): Promise<string | null> => {
  const encoded = hostKey.split(' ')[1] ?? '';
  try {
    const blob = Uint8Array.from(atob(encoded), (letter) => letter.charCodeAt(0));
    if (blob.length === 0) return null;
    const digest = new Uint8Array(await globalThis.crypto.subtle.digest('SHA-256', blob));
    return `SHA256:${btoa(String.fromCharCode(...digest)).replace(/=+$/, '')}`;
  } catch {
    return null;
  }
};
