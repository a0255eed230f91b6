/** Who may sign up, and with which GPU limit an organization starts. */
import type { SitePolicy } from '@gpuaas/sdk';
import { useState } from 'react';
import { useChange } from '../../api/change.ts';
import { useMay } from '../../api/me.tsx';
import { useRead } from '../../api/read.ts';
import { command, type Flag } from '../../format/shell.ts';
import { Fields } from '../../resource/fields.tsx';
import {
  bodyOf,
  commandFlags,
  fieldProblem,
  fieldsOf,
  initialValues,
  shownFields,
  type Values,
} from '../../resource/form.ts';
import { adminSitePolicyUpdate } from '../../resource/inputs.gen.ts';
import { Async } from '../../ui/async.tsx';
import { Section } from '../../ui/page.tsx';
import { SectionForm } from '../../ui/section-form.tsx';
import { Ago } from '../../ui/time.tsx';

const MEANINGS: Readonly<Record<SitePolicy['sign_up'], string>> = {
  closed: 'No one. People who are already users keep their access.',
  invited: 'People with a pending invitation to their verified email address, or in a mapped group.',
  approved: 'Invited people at once; everyone else waits until an operator approves. See Requests.',
  open: 'Everyone whose verified email address is of one of the mail domains, or everyone if there is none.',
};

const FIELDS = fieldsOf(adminSitePolicyUpdate, {
  sign_up: {
    label: 'Who may sign up',
    optionLabels: { closed: 'No one', invited: 'Invited people', approved: 'Approved people', open: 'Everyone' },
    description: ({ sign_up }: Values) => MEANINGS[sign_up as SitePolicy['sign_up']] ?? '',
  },
  mail_domains: {
    label: 'Mail domains',
    description: 'Separated by commas. Any verified address may sign up if empty.',
    rule: 'A mail domain has lower-case letters and a dot, such as example.com.',
    placeholder: 'example.com, example.org',
    isShown: ({ sign_up }) => sign_up === 'open',
    flag: (sent: readonly string[]): readonly Flag[] =>
      sent.length === 0 ? [['any-mail-domain', true]] : sent.map((domain): Flag => ['mail-domain', domain]),
  },
  default_gpu_limit: {
    label: 'First GPU limit of an organization',
    description: 'Organizations that exist keep theirs. With 0 a tenant requests GPUs before the first launch.',
    isNeeded: true,
    flag: (sent: number | null): readonly Flag[] => (sent === null ? [['unlimited', true]] : [['default-gpus', sent]]),
  },
  contact: {
    label: 'Contact',
    description: 'Whom people can ask who may not sign up: an address or a name.',
    placeholder: 'gpu-team@example.com',
  },
});

const PolicyForm = ({ policy }: Readonly<{ policy: SitePolicy }>) => {
  const update = useChange('adminSitePolicyUpdate');
  const refusal = useMay()('admin.site_policy.update');
  const [before] = useState(() => initialValues(FIELDS, policy));
  const [values, setValues] = useState(before);
  const body = bodyOf(FIELDS, values, before);
  const problem = shownFields(FIELDS, values)
    .map((field) => fieldProblem(field, values))
    .find((one) => one !== null);
  const missing = refusal ?? problem ?? (Object.keys(body).length === 0 ? 'No changes to save.' : null);
  return (
    <SectionForm
      submitLabel="Save"
      missing={missing}
      isRunning={update.isRunning}
      error={update.error}
      command={command(['admin', 'site-policy', 'update'], commandFlags(FIELDS, body))}
      onSubmit={() => update.run({ body }, { ifMatch: policy.version })}
    >
      <Fields
        fields={FIELDS}
        values={values}
        before={before}
        onChange={(name, value) => setValues({ ...values, [name]: value })}
      />
      <p className="muted" style={{ margin: 0 }}>
        Last changed <Ago at={policy.updated_at} />. Existing users and organizations keep what they have.
      </p>
    </SectionForm>
  );
};

export const SignUpPolicy = () => {
  const policy = useRead('adminSitePolicyGet', {});
  return (
    <Section title="Sign-up policy">
      <Async of={policy} label="Sign-up policy" rows={8}>
        {/* A newer version restarts the form: the values were entered for the older one. */}
        {(data) => <PolicyForm key={data.version} policy={data} />}
      </Async>
    </Section>
  );
};
