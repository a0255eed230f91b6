/**
 * A page of one allocation's resources in the caller's project, newest first; another project's allocation counts as
 * missing.
 */
import type { ReadCtx } from '../context.ts';
import { findProjectAllocation } from '../db/allocation.ts';
import type { Reader } from '../db/client.ts';
import { notFound } from '../errors.ts';
import { onlyText, projectOf } from '../pipeline/caller.ts';
import { decodeCursor, PAGE_LIMIT_DEFAULT, pageOf } from '../pipeline/page.ts';

type PageRequest = Readonly<{
  params: Readonly<{ allocation_id: string }>;
  query: Readonly<{ limit?: number; cursor?: string }>;
}>;

export const pageOfAllocation = async <Row extends Readonly<{ id: string }>>(
  ctx: ReadCtx,
  { params, query }: PageRequest,
  list: (
    reader: Reader,
    allocationId: string,
    page: Readonly<{ before: string | null; limit: number }>,
  ) => Promise<readonly Row[]>,
) => {
  const limit = query.limit ?? PAGE_LIMIT_DEFAULT;
  const before = onlyText(decodeCursor(ctx, query.cursor)?.[0]);
  const rows = await ctx.read(async (reader) => {
    if ((await findProjectAllocation(reader, projectOf(ctx), params.allocation_id)) === undefined)
      throw notFound('allocation');
    return list(reader, params.allocation_id, { before, limit: limit + 1 });
  });
  return pageOf(
    ctx,
    limit,
    rows,
    (row) => [row.id],
    (row) => row,
  );
};
