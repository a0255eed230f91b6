/** What the forms of the catalog share. */
import type { Flag } from '../../../format/shell.ts';
import type { FieldWords } from '../../../resource/form.ts';

/** Whether tenants can launch it, and what they read if not. */
export const SWITCH = {
  enabled: {
    label: 'Tenants can launch it',
    description: null,
    initial: true,
    flag: (sent: boolean): readonly Flag[] => [[sent ? 'enable' : 'disable', true]],
  },
  disabled_reason: {
    label: 'Reason shown to tenants',
    description: 'A sentence. Tenants see it where they would choose it.',
    isShown: ({ enabled }) => enabled === false,
    isNeeded: true,
    flag: (sent: string): readonly Flag[] => [
      ['disable', true],
      ['reason', sent],
    ],
  },
} as const satisfies Readonly<Record<string, FieldWords>>;

export const REASON: FieldWords = { label: 'Reason', description: 'Recorded in the audit log.', isLong: true };
