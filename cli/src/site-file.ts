/** The site file of a command, and its refusals with the lines of the file in place of pointers into the request. */
import { GpuaasError, type SiteFile } from '@gpuaas/sdk';
import { readSiteText } from '@gpuaas/sdk/site-file';
import { UsageError } from './exit.ts';
import { type Io, readNamed } from './io.ts';

export type ReadSite = Readonly<{
  site: SiteFile;
  placed(err: unknown): unknown;
}>;

export const readSite = async (io: Io, file: string): Promise<ReadSite> => {
  const text = await readNamed(io, file);
  if (text === null)
    throw new UsageError(
      `${file} cannot be read.`,
      'Name a site file. To start from the site as it is: gpuaas admin site export > site.yaml. Example of a first file: doc/operations/site-file.md',
    );
  const read = readSiteText(text);
  if ('wrong' in read) {
    const { line, column, message } = read.wrong;
    if (line === null) throw new UsageError(`${file} ${message}`);
    throw new UsageError(`${file}:${line}:${column}: ${message}`, 'Correct the YAML and retry.');
  }
  const { site, placeOf } = read;
  const placed = (err: unknown): unknown => {
    if (!(err instanceof GpuaasError) || !err.errors.some(({ pointer }) => placeOf(pointer) !== null)) return err;
    const errors = err.errors.map((one) => {
      const place = placeOf(one.pointer);
      return place === null ? one : { ...one, pointer: `${file}:${place.line}: ${place.name}` };
    });
    const { correlation_id, ...details } = err;
    return new GpuaasError(err.code, err.detail, {
      ...details,
      errors,
      ...(correlation_id === null ? {} : { correlation_id }),
    });
  };
  return { site, placed };
};
