import { Radio, Stack } from '@mantine/core';

export type RoleOption<Role extends string> = Readonly<{ role: Role; meaning: string; refusal?: string | null }>;

/** One of a few roles, each with its meaning; a role that cannot be granted shows why. */
export const RoleChoice = <Role extends string>({
  roles,
  value,
  onChange,
}: Readonly<{ roles: readonly RoleOption<Role>[]; value: Role; onChange(role: Role): void }>) => (
  <Radio.Group label="Role" value={value} onChange={(role) => onChange(role as Role)}>
    <Stack gap={8} mt={6}>
      {roles.map(({ role, meaning, refusal = null }) => (
        <Radio
          key={role}
          value={role}
          label={role}
          description={refusal === null ? meaning : `${meaning} ${refusal}`}
          disabled={refusal !== null}
        />
      ))}
    </Stack>
  </Radio.Group>
);
