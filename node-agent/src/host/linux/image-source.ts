/**
 * Image sources: a directory, or a web server that serves such a directory. `index.json` lists name, digest, declared
 * format and size; the data is at `blobs/sha256/<digest>`. Nothing is trusted: data is hashed on arrival, and the
 * format is compared with the header.
 */
import { createReadStream } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { HostError, type ImageName } from '../host.ts';

export type SourceImage = Readonly<{ name: string; digest: string; format: string; size_bytes: number }>;
export type ImageSource = Readonly<{
  find(image: ImageName): Promise<SourceImage>;
  open(image: SourceImage): AsyncIterable<Uint8Array>;
}>;

const DIGEST = /^sha256:[0-9a-f]{64}$/;
const INDEX_MAX = 4 * 1024 * 1024;
const READ_BYTES = 1024 * 1024;
/** The timeout for a silent server. */
const SILENCE_MS = 60_000;

export const hexOf = (digest: string): string => {
  if (!DIGEST.test(digest)) throw new HostError('host_error', `${digest.slice(0, 80)} is not an image digest.`);
  return digest.slice('sha256:'.length);
};

const isImage = (value: unknown): value is SourceImage => {
  if (typeof value !== 'object' || value === null) return false;
  const { name, digest, format, size_bytes } = value as Readonly<Record<string, unknown>>;
  return (
    typeof name === 'string' &&
    typeof digest === 'string' &&
    DIGEST.test(digest) &&
    typeof format === 'string' &&
    Number.isSafeInteger(size_bytes) &&
    Number(size_bytes) > 0
  );
};

const parseIndex = (text: string, source: string): readonly SourceImage[] => {
  let read: unknown;
  try {
    read = JSON.parse(text);
  } catch (cause) {
    throw new HostError('host_error', `The index of ${source} is no JSON.`, { cause });
  }
  const images = typeof read === 'object' && read !== null && 'images' in read ? read.images : undefined;
  if (!Array.isArray(images) || !images.every(isImage))
    throw new HostError('host_error', `The index of ${source} does not list images by name, digest, format and size.`);
  return images;
};

async function* fetchBytes(url: URL): AsyncGenerator<Uint8Array> {
  const silence = new AbortController();
  const stop = (): void => silence.abort(new Error(`no byte for ${SILENCE_MS / 1000} s`));
  let timer = setTimeout(stop, SILENCE_MS);
  try {
    const answer = await fetch(url, { redirect: 'error', signal: silence.signal });
    if (answer.status !== 200 || answer.body === null)
      throw new HostError('host_error', `${url.href} responded with status ${answer.status}.`);
    for await (const chunk of answer.body) {
      clearTimeout(timer);
      timer = setTimeout(stop, SILENCE_MS);
      yield chunk;
    }
  } catch (cause) {
    if (cause instanceof HostError) throw cause;
    throw new HostError('host_error', `${url.href} could not be fetched: ${String(cause)}`, { cause });
  } finally {
    clearTimeout(timer);
    silence.abort();
  }
}

const fetchText = async (url: URL): Promise<string> => {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of fetchBytes(url)) {
    bytes += chunk.length;
    if (bytes > INDEX_MAX) throw new HostError('host_error', `${url.href} is longer than ${INDEX_MAX} bytes.`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
};

const getIn = (images: readonly SourceImage[], image: ImageName, source: string): SourceImage => {
  const found = images.find((one) => (image.digest === null ? one.name === image.name : one.digest === image.digest));
  if (found === undefined)
    throw new HostError('bad_image', `${source} has no image ${image.digest ?? image.name} (${image.name}).`);
  return found;
};

/** A directory by its absolute path, or an http(s) address. */
export const createImageSource = (source: string): ImageSource => {
  if (!/^https?:\/\//.test(source))
    return {
      find: async (image) => {
        const text = await readFile(join(source, 'index.json'), 'utf8').catch((cause: unknown) => {
          throw new HostError('host_error', `The index of ${source} could not be read.`, { cause });
        });
        return getIn(parseIndex(text, source), image, source);
      },
      open: ({ digest }) =>
        createReadStream(join(source, 'blobs', 'sha256', hexOf(digest)), { highWaterMark: READ_BYTES }),
    };
  const base = new URL(source.endsWith('/') ? source : `${source}/`);
  return {
    find: async (image) => {
      // Without a digest the server decides which bytes are meant, so it must be authenticated.
      if (image.digest === null && base.protocol !== 'https:')
        throw new HostError('blocked', `${image.name} has no digest, and ${base.href} is not authenticated.`);
      return getIn(parseIndex(await fetchText(new URL('index.json', base)), base.href), image, base.href);
    },
    open: ({ digest }) => fetchBytes(new URL(`blobs/sha256/${hexOf(digest)}`, base)),
  };
};
