import { requires } from '../../../../tools/test/requires.ts';
import { startNats } from '../../../test/nats.ts';
import { createNatsPublisher } from './nats.ts';
import { publisherContract } from './publisher.contract.ts';

publisherContract(
  'NATS JetStream',
  async (t) => {
    const nats = await startNats(t);
    return {
      connect: (options) => createNatsPublisher({ url: nats.url, ...options }),
      stored: async () => (await nats.stored()).map(({ body }) => body),
      stop: nats.kill,
      stall: nats.stall,
      start: nats.start,
      clear: nats.removeStream,
    };
  },
  requires('nats-server'),
);
