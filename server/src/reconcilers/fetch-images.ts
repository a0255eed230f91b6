/**
 * Asks a host for each image that could be the default and that no host of a region has shown yet, so that a new site has a
 * default image once its first host is active, and a wrong image source is known before a tenant launches.
 */
import { randomUUID } from 'node:crypto';
import { insertSystemAudit } from '../db/audit.ts';
import { type Database, PLATFORM } from '../db/client.ts';
import { runExclusively } from '../db/lock.ts';
import { insertTask } from '../db/node-task.ts';
import { type ImageToFetch, listImagesToFetch } from '../db/os-image-availability.ts';
import { FETCH_RETRY_MIN } from '../domain/image-default.ts';

type FetchDeps = Readonly<{ database: Database }>;

const list = ({ database }: FetchDeps): Promise<ImageToFetch[]> =>
  database.read(PLATFORM, (reader) => listImagesToFetch(reader, FETCH_RETRY_MIN));

const ask = (
  { database }: FetchDeps,
  { image_name: name, digest, region_name, node_id }: ImageToFetch,
): Promise<void> =>
  database.write(PLATFORM, async (tx) => {
    const correlation_id = `c-${randomUUID()}`;
    const task = await insertTask(tx, {
      node_id,
      kind: 'image.pull',
      params: { image: { name, digest } },
      correlation_id,
    });
    tx.defer(
      insertSystemAudit(tx, {
        organization_id: null,
        project_id: null,
        action: 'node.image.pull',
        target_kind: 'node',
        target_id: node_id,
        policy: 'no host of the region has shown that it can fetch the image',
        correlation_id,
        metadata: { task_id: task.id, image_name: name, digest, region_name },
      }),
    );
    tx.wake();
  });

/** Workers take turns: two would ask for an image twice. */
export const fetchImages = async (deps: FetchDeps, signal: AbortSignal): Promise<void> => {
  if ((await list(deps)).length === 0) return;
  await runExclusively(deps.database, 'fetch_images', async () => {
    for (const image of await list(deps)) if (!signal.aborted) await ask(deps, image);
  });
};
