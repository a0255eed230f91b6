import Type from 'typebox';
import { Closed, Time } from '../common.ts';
import { Id } from '../ids.ts';

export const Enrollment = Closed({
  id: Id('enrollment'),
  token: Type.String({ description: 'Single use, shown once.' }),
  expires_at: Time('15 minutes after creation.'),
  node_api_url: Type.String(),
  ca_sha256: Type.String({ description: 'Fingerprint of the CA that the agent verifies.' }),
  install_command: Type.String({ description: 'Run it on the host as root.' }),
});
