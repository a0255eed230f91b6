/**
 * `~.` at the start of a line disconnects, as in ssh: the way out when the other end does not respond. `~~` sends one
 * tilde. Any other character after a tilde is sent with it.
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
