import Type from 'typebox';
import { DisplayText } from '../common.ts';

/** Shared by operator operations: each lies below /api/v1/admin and its name starts with `admin`. */
export const operatorReads = <Tag extends string>(tag: Tag) =>
  ({ method: 'GET', tag, access: 'platform', audit: null, idempotency: 'none', status: 200 }) as const;
export const operatorChanges = <Tag extends string>(tag: Tag) =>
  ({ method: 'POST', tag, access: 'platform', idempotency: 'required' }) as const;
export const operatorUpdates = <Tag extends string>(tag: Tag) =>
  ({ method: 'PATCH', tag, access: 'platform', idempotency: 'none', ifMatch: true, status: 200 }) as const;

export const Reason = DisplayText('Reason, recorded in the audit row.', 240);

/** Query of a list whose resources can be retired. */
export const IncludeRetired = {
  include_retired: Type.Optional(Type.Boolean({ description: 'Also list retired ones (default: false).' })),
};
