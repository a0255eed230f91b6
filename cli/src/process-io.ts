/** The process as the environment of a run: its streams, its signals and the exit code. */
import { EXIT, Interrupted } from './exit.ts';
import { run } from './run.ts';

export const runInProcess = async (): Promise<number> => {
  const controller = new AbortController();
  const interrupt = () => controller.abort(new Interrupted('Interrupted.'));
  process.once('SIGINT', interrupt);
  process.once('SIGTERM', interrupt);
  // A reader that closes early (`| head`) is not an error.
  process.stdout.on('error', (err: NodeJS.ErrnoException) =>
    process.exit(err.code === 'EPIPE' ? EXIT.ok : EXIT.failure),
  );
  const { env, execPath, execArgv, argv, stdin, stdout, stderr } = process;
  const self = [execPath, ...execArgv, argv[1] ?? ''];
  try {
    return await run(argv.slice(2), {
      env,
      cwd: process.cwd(),
      stdin,
      stdout,
      stderr,
      signal: controller.signal,
      self,
    });
  } finally {
    process.off('SIGINT', interrupt);
    process.off('SIGTERM', interrupt);
  }
};
