/**
 * Data received for a target that has not taken it yet. The window bounds bytes, not messages, and a client may send
 * many tiny or empty ones. So waiting data is merged into blocks, and only the last terminal size is kept. Reading
 * continues meanwhile, because acknowledgements for the other direction arrive on the same connection.
 */

/** Handles received messages. Bytes and the end of stream wait for earlier ones. */
export type InboundEvents = Readonly<{
  bytes(chunk: Buffer): Promise<void>;
  eof(): void;
  resize(cols: number, rows: number): void;
}>;

export type Inbound = Readonly<{
  bytes(chunk: Buffer): void;
  eof(): void;
  resize(cols: number, rows: number): void;
  /** From now on received data is passed on. */
  deliverTo(events: InboundEvents): void;
}>;

const BLOCK_BYTES = 64 * 1024;

/** `onTaken` is called for bytes that the target accepted. */
export const createInbound = (onTaken: (bytes: number) => void): Inbound => {
  const delivery = Promise.withResolvers<InboundEvents>();
  let events: InboundEvents | undefined;
  let size: readonly [number, number] | undefined;
  /** Complete blocks, then the one being filled. */
  const blocks: Buffer[] = [];
  let tail: Buffer | undefined;
  let filled = 0;
  let hasEnded = false;
  let isBusy = false;

  const put = (chunk: Buffer): void => {
    for (let at = 0; at < chunk.length; ) {
      if (tail === undefined && chunk.length - at >= BLOCK_BYTES / 2) return void blocks.push(chunk.subarray(at));
      tail ??= Buffer.allocUnsafeSlow(BLOCK_BYTES);
      const copied = chunk.copy(tail, filled, at);
      at += copied;
      filled += copied;
      if (filled < BLOCK_BYTES) return;
      blocks.push(tail);
      tail = undefined;
      filled = 0;
    }
  };
  const next = (): Buffer | undefined => {
    const block = blocks.shift();
    if (block !== undefined || tail === undefined) return block;
    const last = tail.subarray(0, filled);
    tail = undefined;
    filled = 0;
    return last;
  };

  /** One at a time, until nothing waits. A target that fails to accept it ends the session itself. */
  const pump = async (): Promise<void> => {
    if (isBusy) return;
    isBusy = true;
    const to = await delivery.promise;
    for (let block = next(); block !== undefined; block = next())
      try {
        await to.bytes(block);
        onTaken(block.length);
      } catch {}
    isBusy = false;
    if (hasEnded) to.eof();
    hasEnded = false;
  };

  return {
    bytes: (chunk) => {
      if (chunk.length === 0) return;
      // Not copied if the target is free.
      if (isBusy) put(chunk);
      else blocks.push(chunk);
      void pump();
    },
    eof: () => {
      hasEnded = true;
      void pump();
    },
    // A program that reads nothing still gets its window size.
    resize: (cols, rows) => {
      if (events === undefined) size = [cols, rows];
      else events.resize(cols, rows);
    },
    deliverTo: (to) => {
      events = to;
      if (size !== undefined) to.resize(...size);
      delivery.resolve(to);
    },
  };
};
