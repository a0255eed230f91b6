/** Backups of the database, recorded by the job that makes them, so that a missing one is noticed. */
import Type from 'typebox';
import { Closed, DisplayText, Nullable, Page, PageQuery, Time } from '../common.ts';
import { define } from '../define.ts';
import { Id } from '../ids.ts';
import { operatorChanges, operatorReads } from './operator.ts';

const Backup = Closed({
  id: Id('backup'),
  taken_at: Time('The time of the data: when the backup began.'),
  location: Type.String({ description: 'Where it is stored.' }),
  size_bytes: Nullable(Type.Integer({ minimum: 0 })),
  recorded_at: Time('When it was recorded.'),
  recorded_by: Type.String({ description: 'ID of the user who recorded it.' }),
});

export const adminBackupApi = define({
  adminBackupList: {
    ...operatorReads('Site'),
    path: '/api/v1/admin/backups',
    summary: 'List recorded backups of the database, newest data first',
    permission: 'admin.site.read',
    query: Closed(PageQuery),
    response: Page(Backup),
  },
  adminBackupRecord: {
    ...operatorChanges('Site'),
    path: '/api/v1/admin/backups',
    summary: 'Record that a backup of the database was made',
    description:
      'Called by the backup job after the backup is complete and readable. Nothing is copied: this is the record that the site check compares with the time. A backup of the same time and location is recorded once.',
    permission: 'admin.backup.record',
    audit: 'backup.record',
    body: Closed({
      taken_at: Time('The time of the data: when the backup began. Not in the future.'),
      location: DisplayText('Where it is stored, without credentials.', 500),
      size_bytes: Type.Optional(Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })),
    }),
    status: 201,
    response: Backup,
    location: '/api/v1/admin/backups',
  },
});
