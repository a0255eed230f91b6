/** Resolves when this process is asked to end. */
export const onSignal = (): Promise<void> =>
  new Promise((done) => {
    for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => done());
    // A child whose parent has ended exits, because nothing would stop it.
    process.once('disconnect', () => done());
  });
