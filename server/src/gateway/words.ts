/**
 * The words of a stream as they come in. Each end may say only its own, and what is passed on is written anew from what was
 * understood: nothing that the contract does not name travels from a client to a host or back.
 */
import { ClientWord, type GatewayWord, HostWord } from '@gpuaas/contract/stream';
import { createAjv } from '../schema.ts';

const ajv = createAjv({});
const isClientWord = ajv.compile<ClientWord>(ClientWord);
const isHostWord = ajv.compile<HostWord>(HostWord);

const parse = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};

/** Undefined for what is no word of a client. */
export const readClientWord = (text: string): ClientWord | undefined => {
  const word = parse(text);
  return isClientWord(word) ? word : undefined;
};

export const readHostWord = (text: string): HostWord | undefined => {
  const word = parse(text);
  return isHostWord(word) ? word : undefined;
};

export const writeWord = (word: ClientWord | HostWord | GatewayWord): string => JSON.stringify(word);

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is taken out
const plain = (text: string): string => text.replaceAll(/[\u0000-\u001f\u007f-\u009f]+/g, ' ').trim();

/** What a host says to people, for a row and a terminal: without what would move a cursor or end a text. */
export const plainWord = (word: HostWord): HostWord => {
  if (word.type === 'failed') return { ...word, message: plain(word.message) };
  if (word.type === 'exit' && word.signal !== null) return { ...word, signal: plain(word.signal) };
  return word;
};
