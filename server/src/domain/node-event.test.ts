import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { nodeChanged, nodeDrift, nodeHostRefused, nodeLaunchFailures, nodeRebooted } from './node-event.ts';

const NODE = { node_id: 'nod_01k9zv3m8q4t6w2x5y7r0s1n3p', name: 'j22u15' };

describe('events of nodes', () => {
  it('are about the node and belong to no organization', () => {
    const changed = nodeChanged({ ...NODE, state: 'offline', state_reason: 'Not seen.' }, 'c-1');
    assert.deepEqual(changed, {
      event_type: 'node.changed',
      organization_id: null,
      project_id: null,
      subject: NODE.node_id,
      data: { ...NODE, state: 'offline', state_reason: 'Not seen.' },
      correlation_id: 'c-1',
    });
    assert.equal(nodeRebooted(NODE, 'c-2').event_type, 'node.rebooted');
    assert.equal(nodeDrift({ ...NODE, findings: 1, codes: ['vm_files_left'] }, 'c-3').subject, NODE.node_id);
    const refused = nodeHostRefused({ ...NODE, operation: 'enroll', reason: 'Another host.' }, 'c-5');
    assert.equal(refused.event_type, 'node.host_refused');
    const failing = { ...NODE, launch_failures: 3, is_placement_stopped: true, reason: 'No VM.' };
    assert.equal(nodeLaunchFailures(failing, 'c-4').event_type, 'node.launch_failures_changed');
  });
});
