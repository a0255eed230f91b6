/** A public key as people paste it. A private one must not leave the machine, not even by mistake. */
export type ReadKey = Readonly<{ key: string; comment: string; refusal: string | null }>;

const TYPES =
  /^(?:ssh-ed25519|ssh-rsa|ecdsa-sha2-nistp(?:256|384|521)|sk-ssh-ed25519@openssh\.com|sk-ecdsa-sha2-nistp256@openssh\.com)$/;
const BODY = /^[A-Za-z0-9+/]{40,}={0,3}$/;

export const readPublicKey = (text: string): ReadKey => {
  const refused = (refusal: string): ReadKey => ({ key: '', comment: '', refusal });
  if (text.trim() === '') return refused('Paste the public key.');
  if (text.includes('PRIVATE KEY'))
    return refused('This is a private key; keep it to yourself. Add the public one: the file that ends in .pub.');
  const lines = text
    .split(/\r?\n/)
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#'));
  const [line = ''] = lines;
  if (lines.length > 1) return refused('That is more than one key; add them one by one.');
  const [type = '', body = '', ...comment] = line.split(/\s+/);
  if (!TYPES.test(type) || !BODY.test(body))
    return refused('A public key is one line such as: ssh-ed25519 AAAA… you@laptop');
  return { key: `${type} ${body}`, comment: comment.join(' '), refusal: null };
};

/** `ada@laptop` becomes laptop: what tells a person's keys apart is where they are. */
export const keyNameFrom = (comment: string): string => {
  const host = comment.split('@').at(-1) ?? '';
  return host
    .toLowerCase()
    .replace(/\..*$/, '')
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, 63)
    .replace(/^-+|-+$/g, '');
};
