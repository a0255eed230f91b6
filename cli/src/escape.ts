/**
 * `~.` at the start of a line leaves a session, as in ssh: the way out when the other end does not answer. `~~` sends one
 * tilde. Whatever else follows a tilde is sent with it.
 */
const TILDE = 0x7e;
const DOT = 0x2e;

const isLineEnd = (byte: number): boolean => byte === 0x0d || byte === 0x0a;

export type Escape = Readonly<{ feed(bytes: Uint8Array): Readonly<{ send: Uint8Array; leaves: boolean }> }>;

export const createEscape = (): Escape => {
  let atLineStart = true;
  let isHeld = false;
  return {
    feed: (bytes) => {
      const send: number[] = [];
      for (const byte of bytes) {
        if (isHeld && byte === DOT) return { send: Uint8Array.from(send), leaves: true };
        if (!isHeld && atLineStart && byte === TILDE) {
          isHeld = true;
          continue;
        }
        if (isHeld && byte !== TILDE) send.push(TILDE);
        send.push(byte);
        isHeld = false;
        atLineStart = isLineEnd(byte);
      }
      return { send: Uint8Array.from(send), leaves: false };
    },
  };
};
