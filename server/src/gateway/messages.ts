/**
 * Messages of a stream as they arrive. Each end may send only its own kinds, and messages are written again from their
 * parsed form: nothing outside the contract travels between client and host.
 */
import { ClientMessage, type GatewayMessage, HostMessage } from '@gpuaas/contract/stream';
import { createAjv } from '../schema.ts';

const ajv = createAjv({});
const isClientMessage = ajv.compile<ClientMessage>(ClientMessage);
const isHostMessage = ajv.compile<HostMessage>(HostMessage);

const parse = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};

/** Undefined for anything that is not a client message. */
export const readClientMessage = (text: string): ClientMessage | undefined => {
  const message = parse(text);
  return isClientMessage(message) ? message : undefined;
};

export const readHostMessage = (text: string): HostMessage | undefined => {
  const message = parse(text);
  return isHostMessage(message) ? message : undefined;
};

export const writeMessage = (message: ClientMessage | HostMessage | GatewayMessage): string => JSON.stringify(message);

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is taken out
const plain = (text: string): string => text.replaceAll(/[\u0000-\u001f\u007f-\u009f]+/g, ' ').trim();

/** A host's text for users, for a row and a terminal: without control characters. */
export const redactedMessage = (message: HostMessage): HostMessage => {
  if (message.type === 'failed') return { ...message, message: plain(message.message) };
  if (message.type === 'exit' && message.signal !== null) return { ...message, signal: plain(message.signal) };
  return message;
};
