import Type from 'typebox';
import { Closed, Page, PageQuery, StringEnum, Time } from '../common.ts';
import { define } from '../define.ts';
import { operatorChanges, operatorReads, Reason } from './operator.ts';

export const PLATFORM_KEY_KINDS = ['platform', 'trust'] as const;
export type PlatformKeyKind = (typeof PLATFORM_KEY_KINDS)[number];
export const PLATFORM_KEY_STATES = ['available', 'active', 'retiring', 'retired'] as const;

const PlatformKey = Closed({
  kind: StringEnum(PLATFORM_KEY_KINDS),
  version: Type.Integer({ description: 'Its number in the configuration of the processes.' }),
  state: StringEnum(PLATFORM_KEY_STATES),
  state_since: Time('When this state began.'),
  sealed_values: Type.Integer({ description: 'Values in the database that only this version opens.' }),
  process_count: Type.Integer({ description: 'Running processes that hold this version.' }),
  processes_without_key: Type.Integer({
    description: 'Running processes that hold a key of this kind, but not this version.',
  }),
  created_at: Time('When a process first reported it.'),
});

export const adminPlatformKeyApi = define({
  adminPlatformKeyList: {
    ...operatorReads('Nodes'),
    path: '/api/v1/admin/platform-keys',
    summary: 'List the versions of the platform key and of the trust key',
    description:
      'The keys themselves are settings of the processes. `available`: some process holds it. `active`: it seals. `retiring`: values that it sealed are being sealed again. `retired`: nothing is sealed with it; remove it from the settings.',
    permission: 'admin.trust.read',
    query: Closed({ ...PageQuery, kind: Type.Optional(StringEnum(PLATFORM_KEY_KINDS)) }),
    response: Page(PlatformKey),
  },
  adminPlatformKeyRotate: {
    ...operatorChanges('Nodes'),
    path: '/api/v1/admin/platform-keys/rotate',
    summary: 'Seal with the newest version from now on, and seal all earlier values again',
    description:
      'Refused while a running process lacks that version, and while an earlier rotation is not complete. Requests continue meanwhile.',
    permission: 'admin.trust.update',
    audit: 'platform_key.rotate',
    freshSignIn: true,
    body: Closed({ kind: StringEnum(PLATFORM_KEY_KINDS), reason: Reason }),
    status: 202,
    response: PlatformKey,
    location: '/api/v1/admin/platform-keys',
    errors: ['conflict'],
  },
});
