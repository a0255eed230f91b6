/** The user's own tokens, for scripts that act on their behalf. */
import { ROLES, type RoleName } from '@gpuaas/sdk';
import { useState } from 'react';
import { useChange } from '../../api/change.ts';
import { useMe } from '../../api/me.tsx';
import { useAll } from '../../api/read.ts';
import { command, type Flag } from '../../format/shell.ts';
import { ActionButton } from '../../ui/action-button.tsx';
import { Async } from '../../ui/async.tsx';
import { FormDialog } from '../../ui/form-dialog.tsx';
import { EmptyState, Section } from '../../ui/page.tsx';
import type { Secret } from '../../ui/secret-view.tsx';
import { TokenForm } from '../access/token-form.tsx';
import { tokenSecret } from '../access/token-secret.tsx';
import { TokenTable } from '../access/token-table.tsx';

export const ApiTokens = () => {
  const me = useMe();
  const tokens = useAll('apiTokenList', {});
  const create = useChange('apiTokenCreate');
  const revoke = useChange('apiTokenRevoke');
  const [isCreating, setCreating] = useState(false);
  const [secret, setSecret] = useState<Secret | null>(null);
  const roles: readonly RoleName[] = [
    'user',
    ...me.organizations.map(({ role }): RoleName => `tenant:${role}`),
    ...me.projects.flatMap(({ role }): RoleName[] => (role === 'service_account' ? [] : [`project:${role}`])),
    ...(me.platform_role === null ? [] : [`platform:${me.platform_role}` as const]),
  ];
  const permissions = [...new Set(roles.flatMap((role): readonly string[] => ROLES[role]))];
  const projects = me.projects.map(({ id, name, organization_id }) => {
    const organization = me.organizations.find((one) => one.id === organization_id);
    return { value: id, label: organization === undefined ? name : `${name}, ${organization.display_name}` };
  });
  const stop = () => {
    setCreating(false);
    setSecret(null);
    create.reset();
  };
  return (
    <Section
      title="API tokens"
      flush
      actions={<ActionButton onClick={() => setCreating(true)}>New token</ActionButton>}
    >
      <Async of={tokens} label="Tokens">
        {(rows) =>
          rows.length === 0 ? (
            <EmptyState title="No tokens">
              A token lets a script act as you, within the selected scopes and until it expires. For the CLI on your
              computer, use <span className="mono">gpuaas login</span> . For a shared program, use a service account of
              the project.
            </EmptyState>
          ) : (
            <TokenTable
              tokens={rows}
              projectName={(id) => me.projects.find((project) => project.id === id)?.name ?? id}
              refusal={null}
              command={({ id }) => command(['token', 'revoke', id], [['yes', true]])}
              change={revoke}
              revoke={async ({ id }) => (await revoke.run({ params: { token_id: id } })) !== null}
            />
          )
        }
      </Async>
      <FormDialog title="New token" isOpen={isCreating} onClose={stop} secret={secret}>
        <TokenForm
          permissions={permissions}
          projects={projects}
          words={['token', 'create']}
          flags={(projectId): readonly Flag[] => [['project', projectId]]}
          change={create}
          send={async (body) => (await create.run({ body }))?.data ?? null}
          onCancel={stop}
          onCreated={(created) => setSecret(tokenSecret(created))}
        />
      </FormDialog>
    </Section>
  );
};
