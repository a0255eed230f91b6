import type { ServiceAccount } from '@gpuaas/sdk';
import { Radio, Stack } from '@mantine/core';
import { useState } from 'react';
import { useChange } from '../../api/change.ts';
import { command } from '../../format/shell.ts';
import { DialogForm } from '../../ui/form-dialog.tsx';
import type { Secret } from '../../ui/secret-view.tsx';
import { clientSecret } from './client-secret.tsx';
import { useProjectFlags } from './use-cli-scope.ts';

const OVERLAPS = [
  { value: '', label: 'No overlap', seconds: 0 },
  { value: '1h', label: '1 hour', seconds: 3_600 },
  { value: '1d', label: '1 day', seconds: 86_400 },
  { value: '7d', label: '7 days (maximum)', seconds: 604_800 },
] as const;

/** Creates a new client secret. The old one stays valid during the overlap, so that programs can switch. */
export const RotateForm = ({
  projectId,
  account,
  onRotated,
  onCancel,
}: Readonly<{ projectId: string; account: ServiceAccount; onRotated(secret: Secret): void; onCancel(): void }>) => {
  const rotate = useChange('serviceAccountSecretRotate');
  const flags = useProjectFlags(projectId);
  const [overlap, setOverlap] = useState<string>('1h');
  const chosen = OVERLAPS.find(({ value }) => value === overlap) ?? OVERLAPS[0];
  const submit = async () => {
    const answer = await rotate.run({
      params: { project_id: projectId, service_account_id: account.id },
      body: { overlap_s: chosen.seconds },
    });
    if (answer !== null) onRotated(clientSecret(`New secret for ${account.name}`, answer.data));
  };
  return (
    <DialogForm
      submitLabel="Create secret"
      missing={null}
      isDestructive={chosen.seconds === 0}
      isRunning={rotate.isRunning}
      error={rotate.error}
      command={command(
        ['service-account', 'rotate', account.name],
        [['overlap', overlap], ['yes', overlap === ''], ...flags],
      )}
      onSubmit={submit}
      onCancel={onCancel}
    >
      <Radio.Group
        label="Old secret stays valid for"
        description="After that, programs using the old secret fail. Existing tokens stay valid."
        value={overlap}
        onChange={setOverlap}
      >
        <Stack gap={8} mt={6}>
          {OVERLAPS.map(({ value, label }) => (
            <Radio key={value} value={value} label={label} />
          ))}
        </Stack>
      </Radio.Group>
    </DialogForm>
  );
};
