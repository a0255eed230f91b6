/** A private key must not leave the machine, not even by mistake: it is recognised before anything is sent. */
export type FoundKey = Readonly<{ key: string; problem: null } | { key: null; problem: string }>;

const FORM = /^(ssh-|ecdsa-|sk-ssh-|sk-ecdsa-)\S+\s+\S+/;

export const publicKeyIn = (text: string): FoundKey => {
  if (text.includes('PRIVATE KEY'))
    return { key: null, problem: 'This is a private key. Add the public one: the file that ends in .pub.' };
  const lines = text.split('\n').map((line) => line.trim());
  const line = lines.find((candidate) => candidate !== '' && !candidate.startsWith('#'));
  if (line === undefined) return { key: null, problem: 'Paste a public key.' };
  return FORM.test(line)
    ? { key: line, problem: null }
    : { key: null, problem: 'A public key begins like ssh-ed25519 AAAA….' };
};

/** The comment of a key often says whose it is: a name to begin with. */
export const keyNameIn = (key: string): string => {
  const comment = key.split(/\s+/).slice(2).join('-').toLowerCase();
  return comment
    .replaceAll(/[^a-z0-9]+/g, '-')
    .slice(0, 40)
    .replaceAll(/^-+|-+$/g, '');
};
