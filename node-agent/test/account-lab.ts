/**
 * Users of a host in separate namespaces: a copy of /etc, an empty /home and processes that are invisible outside. The
 * programs are the real ones, except `loginctl`, which needs a running logind: here sessions are the files of a
 * directory.
 */
import { spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { createRun, type Run } from '../src/host/linux/run.ts';

export type AccountLab = Readonly<{
  /** Runs inside; commands with a user or group ID switch to it there. */
  run: Run;
  openSession(username: string): Promise<void>;
  close(): Promise<void>;
}>;

const LOGINCTL = `#!/bin/sh
case $1 in
  list-sessions) for file in /run/sessions/*; do [ -e "$file" ] && echo "\${file##*/} 1 $(cat "$file") -"; done ;;
  terminate-user) for file in /run/sessions/*; do [ "$(cat "$file")" = "$2" ] && rm "$file"; done ;;
esac
exit 0
`;

const SETUP = `set -e
exec 3<&0
mount -t tmpfs -o mode=755 run /run
mkdir /run/etc /run/sessions /run/bin
cp -a /etc/. /run/etc
mount --bind /run/etc /etc
mount -t tmpfs -o mode=755 home /home
cat >/run/bin/loginctl <<'END'
${LOGINCTL}END
chmod 755 /run/bin/loginctl
echo ready
cat <&3 >/dev/null &
wait $!
`;

const PATH = '/run/bin:/usr/sbin:/usr/bin:/sbin:/bin';

export const startAccountLab = async (): Promise<AccountLab> => {
  const space = ['--pid', '--fork', '--mount-proc', '--mount', '--propagation', 'slave'];
  const holder = spawn('unshare', [...space, 'sh', '-c', SETUP], { stdio: ['pipe', 'pipe', 'inherit'] });
  const ended = new Promise<void>((resolve) => holder.once('close', () => resolve()));
  await new Promise<void>((resolve, reject) => {
    holder.stdout.on('data', (chunk: Buffer) => chunk.includes('ready') && resolve());
    holder.once('close', () => reject(new Error('the namespace of users could not be made')));
  });
  const first = (await readFile(`/proc/${holder.pid}/task/${holder.pid}/children`, 'utf8')).trim();
  const outside = createRun();
  const run: Run = ({ uid, gid, argv, ...command }) => {
    const as = uid === undefined ? [] : ['setpriv', `--reuid=${uid}`, `--regid=${gid ?? uid}`, '--clear-groups', '--'];
    const into = ['--target', first, '--pid', '--mount', 'env', `PATH=${PATH}`] as const;
    return outside({ ...command, argv: ['nsenter', ...into, ...as, ...argv] });
  };
  return {
    run,
    openSession: async (username) => {
      const open = 'echo "$1" >"/run/sessions/$$"; setsid su "$1" -c "sleep 1000" </dev/null >/dev/null 2>&1 &';
      const { status, stderr } = await run({ argv: ['sh', '-c', open, 'sh', username], recorded: 'none' });
      if (status !== 0) throw new Error(`no session of ${username}: ${stderr}`);
    },
    close: async () => {
      holder.stdin.end();
      await ended;
    },
  };
};
