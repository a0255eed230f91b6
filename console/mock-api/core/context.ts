/** The context of a handler's request. */
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
  /** Emitted when the request has succeeded. */
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
  /** The subject of the audit row, if the path does not name it. */
  target(kind: string, id: string): void;
  /** The owner of the audit row, if an operator changes a resource of a tenant. */
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

/** The row, or the same response as for a row of another tenant. */
export const must = <T>(row: T | undefined | null, noun: string): T => {
  if (row === undefined || row === null) throw notFound(noun);
  return row;
};

export const assertVersion = (row: Readonly<{ version: number }>, ifMatch: number): void => {
  if (row.version !== ifMatch) throw resourceChanged(row.version);
};
