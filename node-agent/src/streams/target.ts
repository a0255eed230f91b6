/** The target of a session: a port, the serial console, or a program with a terminal. */
import type { Duplex, Readable } from 'node:stream';
import type { SerialLine } from '../host/host.ts';

export type Exit = Readonly<{ code: number | null; signal: string | null }>;

export type Target = Readonly<{
  output: Readable;
  /** Resolves when there is room for more. */
  write(bytes: Buffer): Promise<void>;
  /** Nothing more is written. */
  end(): void;
  resize(cols: number, rows: number): void;
  /** Of a program, once its output has ended; null if unknown. */
  exit: Promise<Exit | null>;
  /** When the output has ended, the session is over: nothing is written any more. */
  ends_with_output: boolean;
  /** At once. Data in flight is lost. */
  close(): void;
}>;

export const writeTo = (stream: Duplex, bytes: Buffer): Promise<void> =>
  new Promise((resolve, reject) => {
    if (!stream.writable) return reject(new Error('it is closed'));
    stream.write(bytes, (error) => (error ? reject(error) : resolve()));
  });

export const portTarget = (stream: Duplex): Target => {
  // Handled by the reader of the stream, which learns of the end anyway.
  stream.on('error', () => undefined);
  return {
    output: stream,
    write: (bytes) => writeTo(stream, bytes),
    end: () => void stream.end(),
    resize: () => undefined,
    exit: Promise.resolve(null),
    ends_with_output: false,
    close: () => void stream.destroy(),
  };
};

export const consoleTarget = (line: SerialLine): Target => ({
  output: line.output,
  write: line.write,
  end: () => undefined,
  resize: () => undefined,
  exit: Promise.resolve(null),
  ends_with_output: true,
  close: line.close,
});
