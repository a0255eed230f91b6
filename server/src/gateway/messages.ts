/**
 * The words of a stream as they come in. Each end may say only its own, and what is passed on is written anew from what was
 * understood: nothing that the contract does not name travels from a client to a host or back.
 */
import { ClientMessage, type GatewayMessage, HostMessage } from '@gpuaas/contract/stream';
import { createAjv } from '../schema.ts';

const ajv = createAjv({});
const isClientWord = ajv.compile<ClientMessage>(ClientMessage);
const isHostWord = ajv.compile<HostMessage>(HostMessage);

const parse = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};

/** Undefined for what is no word of a client. */
export const readClientWord = (text: string): ClientMessage | undefined => {
  const word = parse(text);
  return isClientWord(word) ? word : undefined;
};

export const readHostWord = (text: string): HostMessage | undefined => {
  const word = parse(text);
  return isHostWord(word) ? word : undefined;
};

export const writeWord = (word: ClientMessage | HostMessage | GatewayMessage): string => JSON.stringify(word);

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is taken out
const plain = (text: string): string => text.replaceAll(/[\u0000-\u001f\u007f-\u009f]+/g, ' ').trim();

/** What a host says to people, for a row and a terminal: without what would move a cursor or end a text. */
export const plainWord = (word: HostMessage): HostMessage => {
  if (word.type === 'failed') return { ...word, message: plain(word.message) };
  if (word.type === 'exit' && word.signal !== null) return { ...word, signal: plain(word.signal) };
  return word;
};
