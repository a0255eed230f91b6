/** The access policy of an organization: limits and rules for sessions with its allocations. */
import type { AccessPolicy } from '@gpuaas/sdk';
import { NumberInput, Stack, Switch } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useChange } from '../../api/change.ts';
import { useMay } from '../../api/me.tsx';
import { useRead } from '../../api/read.ts';
import { command, type Flag } from '../../format/shell.ts';
import { ActionButton } from '../../ui/action-button.tsx';
import { Async } from '../../ui/async.tsx';
import { CliCommand } from '../../ui/cli-command.tsx';
import { ErrorPanel } from '../../ui/error-panel.tsx';
import { Section } from '../../ui/page.tsx';
import { Ago } from '../../ui/time.tsx';
import { changesOf, numberRefusal, POLICY_NUMBERS, POLICY_SWITCHES, type PolicySettings } from './policy-settings.ts';
import { useOrganizationFlag } from './use-cli-scope.ts';

export const AccessPolicyPanel = ({ organizationId }: Readonly<{ organizationId: string }>) => {
  const policy = useRead('accessPolicyGet', { params: { organization_id: organizationId } });
  return (
    <Section title="Access policy">
      <Async of={policy} label="Access policy" rows={8}>
        {/* A newer version restarts the form: the values were entered for the older one. */}
        {(data) => <PolicyForm key={data.version} organizationId={organizationId} policy={data} />}
      </Async>
    </Section>
  );
};

const PolicyForm = ({ organizationId, policy }: Readonly<{ organizationId: string; policy: AccessPolicy }>) => {
  const update = useChange('accessPolicyUpdate');
  const refusal = useMay()('organization.update', { organization: organizationId });
  const org = useOrganizationFlag(organizationId);
  const form = useForm<PolicySettings>({ initialValues: policy });
  const settings = form.getValues();
  const changes = changesOf(policy, settings);
  const missing =
    refusal ??
    POLICY_NUMBERS.map((one) => numberRefusal(one, settings[one.name])).find((one) => one !== null) ??
    (Object.keys(changes).length === 0 ? 'No changes to save.' : null);
  const submit = form.onSubmit(() => {
    if (missing !== null) return;
    void update.run({ params: { organization_id: organizationId }, body: changes }, { ifMatch: policy.version });
  });
  const flags = Object.entries(changes).map(([name, value]): Flag => {
    const text = typeof value === 'boolean' ? (value ? 'yes' : 'no') : value;
    return ['set', `${name}=${text}`];
  });
  return (
    <form onSubmit={submit} noValidate>
      <Stack gap="md" maw={620}>
        <p className="muted" style={{ margin: 0 }}>
          Applies to terminals, serial consoles, SSH and forwarded ports through the gateway. Shorter limits also apply
          to open sessions. A change of recording applies to new sessions only. Last changed{' '}
          <Ago at={policy.updated_at} />.
        </p>
        {POLICY_NUMBERS.map((one) => (
          <NumberInput
            key={one.name}
            label={one.label}
            description={one.meaning}
            suffix={` ${one.unit}`}
            value={settings[one.name] / one.factor}
            min={one.min / one.factor}
            max={one.max / one.factor}
            error={numberRefusal(one, settings[one.name])}
            readOnly={refusal !== null}
            clampBehavior="none"
            hideControls
            onChange={(value) => form.setValues({ [one.name]: Math.round(Number(value) * one.factor) })}
          />
        ))}
        {POLICY_SWITCHES.map(({ name, label, meaning }) => (
          <Switch
            key={name}
            label={label}
            description={meaning}
            disabled={refusal !== null}
            {...form.getInputProps(name, { type: 'checkbox' })}
          />
        ))}
        {refusal !== null && (
          <p className="muted" style={{ margin: 0 }}>
            {refusal}
          </p>
        )}
        {update.error !== null && <ErrorPanel error={update.error} />}
        <CliCommand command={command(['organization', 'access-policy'], [...flags, org])} />
        <div>
          <ActionButton type="submit" loading={update.isRunning} disabledReason={missing}>
            Save
          </ActionButton>
        </div>
      </Stack>
    </form>
  );
};
