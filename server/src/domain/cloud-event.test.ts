import assert from 'node:assert/strict';
import { test } from 'node:test';
import { toCloudEvent } from './cloud-event.ts';

const ROW = {
  id: 'evt_a',
  event_type: 'project.updated',
  organization_id: 'org_a',
  project_id: 'prj_a',
  subject: 'prj_a',
  data: { project_id: 'prj_a' },
  correlation_id: 'cor_a',
  created_at: '2026-11-15T10:03:21.000Z',
};

test('an event names its organization and project, and omits absent ones', () => {
  const event = toCloudEvent(ROW);
  assert.deepEqual([event.organizationid, event.projectid, event.time], ['org_a', 'prj_a', ROW.created_at]);
  const platform = toCloudEvent({ ...ROW, organization_id: null, project_id: null });
  assert.deepEqual(
    Object.keys(platform).filter((key) => key === 'organizationid' || key === 'projectid'),
    [],
  );
  assert.deepEqual([event.specversion, event.id, event.data], ['1.0', 'evt_a', ROW.data]);
});
