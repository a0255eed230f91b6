/** What a handler knows of the request it answers. */
import type { OperationId, Permission, PublicApi, RequestOf } from '@gpuaas/contract';
import type { EventData, EventType } from '@gpuaas/contract/events';
import type { Principal } from './authorize.ts';
import { notFound, resourceChanged } from './errors.ts';
import type { World } from './world.ts';

export type MockCtx = Readonly<{
  world: World;
  principal: Principal;
  operation: OperationId;
  correlation_id: string;
  organization_id: string | null;
  project_id: string | null;
  /** Told when the request has succeeded. */
  emit<T extends EventType>(
    type: T,
    event: Readonly<{
      subject: string;
      data: EventData<T>;
      organization_id?: string | null;
      project_id?: string | null;
    }>,
  ): void;
  /** Facts for the audit row. */
  note(metadata: Readonly<Record<string, unknown>>): void;
  /** What the audit row is about, where the path does not say. */
  target(kind: string, id: string): void;
  /** Whose audit row it is, where an operator does something to a tenant's. */
  setTarget(organizationId: string, projectId: string | null): void;
  holds(permission: Permission, organizationId: string, projectId: string | null): boolean;
}>;

export type Req<K extends OperationId> = RequestOf<PublicApi[K]>;

export const organizationOf = (ctx: MockCtx): string => {
  if (ctx.organization_id === null) throw notFound('organization');
  return ctx.organization_id;
};

export const projectOf = (ctx: MockCtx): string => {
  if (ctx.project_id === null) throw notFound('project');
  return ctx.project_id;
};

/** The row, or the same answer that a row of somebody else's gets. */
export const must = <T>(row: T | undefined | null, noun: string): T => {
  if (row === undefined || row === null) throw notFound(noun);
  return row;
};

export const assertVersion = (row: Readonly<{ version: number }>, ifMatch: number): void => {
  if (row.version !== ifMatch) throw resourceChanged(row.version);
};
