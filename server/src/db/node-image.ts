/** Images on hosts: whether one is in use there. */
import type { Reader } from './client.ts';
import { TASK_OPEN, taskKindIn } from './predicates.ts';

/** A clone of this image is requested or in progress on the node. */
export const isBeingCloned = async (reader: Reader, nodeId: string, digest: string): Promise<boolean> =>
  (
    await reader.query(
      `select 1 as one from node_tasks t where t.node_id = $1 and t.state ${TASK_OPEN}
         and t.params -> 'image' ->> 'digest' = $2 and t.kind not ${taskKindIn('image.pull')} limit 1`,
      [nodeId, digest],
    )
  ).rowCount === 1;
