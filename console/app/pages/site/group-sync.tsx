/** Applies the mappings to everyone now, and says what changed. */

import type { Operations } from '@gpuaas/sdk';
import { useState } from 'react';
import { useChange } from '../../api/change.ts';
import { useMay } from '../../api/me.tsx';
import { count } from '../../format/size.ts';
import { ActionButton } from '../../ui/action-button.tsx';
import { CliCommand } from '../../ui/cli-command.tsx';
import { ErrorPanel } from '../../ui/error-panel.tsx';
import { Section } from '../../ui/page.tsx';

type Result = Operations['adminGroupSync']['response'];

const resultText = (result: Result): string =>
  `Checked ${count(result.users_checked, 'user')}: ${count(result.memberships_granted, 'membership')} granted, ${result.memberships_changed} changed, ${result.memberships_removed} removed.`;

export const GroupSync = () => {
  const sync = useChange('adminGroupSync');
  const refusal = useMay()('admin.group_mapping.update');
  const [result, setResult] = useState<Result | null>(null);
  return (
    <Section
      title="Sync"
      actions={
        <ActionButton
          variant="default"
          disabledReason={refusal}
          loading={sync.isRunning}
          onClick={() => void sync.run({}).then((answer) => answer !== null && setResult(answer.data))}
        >
          Sync groups
        </ActionButton>
      }
    >
      <p style={{ marginTop: 0 }}>
        Compares the groups that users had at their last sign-in with the mappings, and changes memberships accordingly.
        It does not contact the issuer: a group that a user has lost since is known at the next sign-in, or when an
        export of the issuer is applied with <code>gpuaas admin group sync --file</code>.
      </p>
      <p role="status" style={{ margin: 0 }}>
        {result !== null && resultText(result)}
      </p>
      {sync.error !== null && <ErrorPanel error={sync.error} />}
      <CliCommand command="gpuaas admin group sync" />
    </Section>
  );
};
