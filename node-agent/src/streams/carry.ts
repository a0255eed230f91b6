/**
 * Copies the data of one session between its leg and its target, until both directions have ended or either end
 * disconnects.
 */
import type { Leg } from './leg.ts';
import type { Target } from './target.ts';

export const carry = async (
  leg: Leg,
  target: Target,
  { is_writable }: Readonly<{ is_writable: boolean }>,
): Promise<void> => {
  const typed = Promise.withResolvers<void>();
  leg.sendMessage({ type: 'ready' });
  leg.deliverTo({
    bytes: async (chunk) => {
      // Discarded input is acknowledged too, or the window would close.
      if (!is_writable) return;
      try {
        await target.write(chunk);
      } catch (error) {
        typed.resolve();
        throw error;
      }
    },
    eof: () => {
      target.end();
      typed.resolve();
    },
    resize: target.resize,
  });
  void leg.closed.then(() => {
    typed.resolve();
    target.close();
  });
  let isWhole = true;
  try {
    // Its end does not destroy it: the other direction may still be open.
    for await (const chunk of target.output.iterator({ destroyOnReturn: false }))
      if (!(await leg.send(chunk as Buffer))) {
        isWhole = false;
        break;
      }
  } catch {
    isWhole = false;
  }
  leg.sendMessage({ type: 'eof' });
  const exit = isWhole ? await target.exit : null;
  if (exit !== null) leg.sendMessage({ type: 'exit', ...exit });
  if (isWhole && !target.ends_with_output) await typed.promise;
  target.close();
  leg.close();
};
