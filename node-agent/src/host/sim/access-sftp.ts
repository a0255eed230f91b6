/** Files of a simulated VM over SFTP, for `scp` and `sftp`. */
import type { Attributes, FileEntry, SFTPWrapper } from 'ssh2';
import type { Files } from './access-files.ts';

/** Constants of the protocol, version 3. */
const OK = 0;
const END = 1;
const NO_SUCH_FILE = 2;
const FAILURE = 4;
const UNSUPPORTED = 8;
const OPEN_CREATE = 0x08;
const OPEN_TRUNCATE = 0x10;
const FOLDER_MODE = 0o40_755;
const FILE_MODE = 0o100_644;
const READ_MAX = 64 * 1024;

type Open = { path: string; isListed: boolean };

type WithStatus = Readonly<{
  _protocol: { exitStatus(channel: number, status: number): void };
  outgoing: { id: number };
}>;

export const serveFiles = (sftp: SFTPWrapper, files: Files): void => {
  const open = new Map<number, Open>();
  let last = 0;
  const handle = (path: string): Buffer => {
    last += 1;
    open.set(last, { path, isListed: false });
    const bytes = Buffer.alloc(4);
    bytes.writeUInt32BE(last);
    return bytes;
  };
  const opened = (bytes: Buffer): Open | undefined => (bytes.length === 4 ? open.get(bytes.readUInt32BE()) : undefined);
  const attributes = (path: string): Attributes => ({
    mode: files.kind(path) === 'folder' ? FOLDER_MODE : FILE_MODE,
    uid: 1000,
    gid: 1000,
    size: files.size(path),
    atime: 0,
    mtime: 0,
  });
  const entry = (path: string, filename: string): FileEntry => ({
    filename,
    longname: filename,
    attrs: attributes(path),
  });
  const done = (id: number, isDone: boolean): void => sftp.status(id, isDone ? OK : FAILURE);
  const stat = (id: number, path: string | undefined): void => {
    if (path === undefined || files.kind(path) === null) sftp.status(id, NO_SUCH_FILE);
    else sftp.attrs(id, attributes(path));
  };

  sftp.on('error', () => undefined);
  sftp.on('end', () => {
    // OpenSSH treats an end without a status as a failure, and the library has no function for it here.
    const { _protocol: protocol, outgoing } = sftp as unknown as WithStatus;
    protocol.exitStatus(outgoing.id, OK);
    sftp.end();
  });
  sftp.on('REALPATH', (id, path) => sftp.name(id, [entry(files.resolve(path), files.resolve(path))]));
  sftp.on('STAT', (id, path) => stat(id, files.resolve(path)));
  sftp.on('LSTAT', (id, path) => stat(id, files.resolve(path)));
  sftp.on('FSTAT', (id, bytes) => stat(id, opened(bytes)?.path));
  // Times and modes are not kept.
  sftp.on('SETSTAT', (id) => sftp.status(id, OK));
  sftp.on('FSETSTAT', (id) => sftp.status(id, OK));
  sftp.on('OPEN', (id, name, flags) => {
    const path = files.resolve(name);
    const isThere = files.kind(path) === 'file';
    if (!isThere && (flags & OPEN_CREATE) === 0) return sftp.status(id, NO_SUCH_FILE);
    if ((!isThere || (flags & OPEN_TRUNCATE) !== 0) && !files.truncate(path)) return sftp.status(id, FAILURE);
    return sftp.handle(id, handle(path));
  });
  sftp.on('READ', (id, bytes, offset, length) => {
    const found = opened(bytes);
    const data = found === undefined ? null : files.read(found.path, offset, Math.min(length, READ_MAX));
    if (data === null) sftp.status(id, FAILURE);
    else if (data.length === 0) sftp.status(id, END);
    else sftp.data(id, data);
  });
  sftp.on('WRITE', (id, bytes, offset, data) => {
    const found = opened(bytes);
    done(id, found !== undefined && files.write(found.path, offset, data));
  });
  sftp.on('CLOSE', (id, bytes) => done(id, bytes.length === 4 && open.delete(bytes.readUInt32BE())));
  sftp.on('OPENDIR', (id, name) => {
    const path = files.resolve(name);
    if (files.kind(path) === 'folder') sftp.handle(id, handle(path));
    else sftp.status(id, NO_SUCH_FILE);
  });
  sftp.on('READDIR', (id, bytes) => {
    const found = opened(bytes);
    if (found === undefined || found.isListed) return sftp.status(id, found === undefined ? FAILURE : END);
    found.isListed = true;
    const names = files.list(found.path);
    if (names.length === 0) return sftp.status(id, END);
    return sftp.name(
      id,
      names.map((name) => entry(files.resolve(`${found.path}/${name}`), name)),
    );
  });
  sftp.on('MKDIR', (id, path) => done(id, files.makeFolder(files.resolve(path))));
  sftp.on('REMOVE', (id, path) => done(id, files.remove(files.resolve(path))));
  sftp.on('RMDIR', (id, path) => done(id, files.remove(files.resolve(path))));
  sftp.on('RENAME', (id, from, to) => done(id, files.rename(files.resolve(from), files.resolve(to))));
  for (const word of ['READLINK', 'SYMLINK', 'EXTENDED'] as const) {
    sftp.on(word, (id: number) => sftp.status(id, UNSUPPORTED));
  }
};
