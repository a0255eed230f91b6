/** The facts of an image, how its bytes are requested, and how one is refused. */
import { HostError } from '../host/host.ts';

export type ImageFormat = 'raw' | 'qcow2';
export type ByteRange = Readonly<{ offset: number; length: number }>;
/** Requests a range and receives its bytes; fewer mean that the file ended. */
export type Inspection<T> = Generator<ByteRange, T, Buffer>;

export type ImageFacts = Readonly<{
  format: ImageFormat;
  virtual_bytes: number;
  file_bytes: number;
  cluster_bytes: number | null;
  has_snapshots: boolean;
}>;
export const refuseImage = (why: string): never => {
  throw new HostError('blocked', `the image is refused: ${why}`);
};
