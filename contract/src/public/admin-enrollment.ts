import Type from 'typebox';
import { Closed, Nullable, StringEnum, Time } from '../common.ts';
import { Id } from '../ids.ts';

export const HOST_STATES = ['unbound', 'named', 'bound'] as const;

const HostName = (description: string, example: string) =>
  Type.Optional(Type.String({ minLength: 3, maxLength: 128, description, examples: [example] }));

/** The host that an operator names. */
export const NamedHost = Closed(
  {
    product_serial: HostName('Serial number of the system, as dmidecode -s system-serial-number prints it.', '4J7XQR3'),
    product_uuid: HostName('UUID of the system.', '4c4c4544-004a-3710-8058-b4c04f515233'),
    machine_id: HostName('Content of /etc/machine-id.', '6f2b7f2a90c24a1c8a531f6d5d6a7c11'),
  },
  {
    minProperties: 1,
    description:
      'The only host that may enroll as this node: each given field must match. Without it the first host that uses the token is bound to the node.',
  },
);

/** The host of a node. */
export const NodeHost = Closed({
  state: StringEnum(HOST_STATES, {
    description:
      '`unbound`: the first host that enrolls is bound. `named`: only the host that the operator named can enroll. `bound`: the node has this host.',
  }),
  product_serial: Nullable(Type.String()),
  product_uuid: Nullable(Type.String()),
  machine_id: Nullable(Type.String()),
  bound_at: Nullable(Time('When the host was bound.')),
});

export const Enrollment = Closed({
  id: Id('enrollment'),
  node_id: Id('node'),
  host: NodeHost,
  token: Type.String({
    description:
      'Single use, shown once. Pass it on standard input or in a file with mode 0600: arguments and variables of a process are visible to others on the host.',
  }),
  expires_at: Time('15 minutes after creation.'),
  node_api_url: Type.String(),
  ca_sha256: Type.String({ description: 'Fingerprint of the CA that the agent verifies.' }),
  install_command: Type.String({
    description: 'Run it on the host as root. It asks for the token, or reads it from standard input.',
  }),
});
