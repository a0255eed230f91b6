/**
 * Launch: choices with defaults on the left; their price and whether they fit on the right. The estimate never blocks
 * the user: it only disables the button for a request that was just refused.
 */
import './launch.css';
import { Text } from '@mantine/core';
import { useNavigate, useParams } from '@tanstack/react-router';
import { type FormEvent, useState } from 'react';
import { type Change, useChange } from '../../api/change.ts';
import { useMay } from '../../api/me.tsx';
import { money } from '../../format/money.ts';
import { ActionButton } from '../../ui/action-button.tsx';
import { ErrorPanel } from '../../ui/error-panel.tsx';
import { Loading } from '../../ui/loading.tsx';
import { Page } from '../../ui/page.tsx';
import { StorageAndNetwork } from './choice-fields.tsx';
import { DetailsFields } from './details-fields.tsx';
import { bodyOf, choiceProblem, formOf, type LaunchForm, type LaunchSearch, problemsOf } from './form.ts';
import { HardwareFields } from './hardware-fields.tsx';
import { KeysField } from './keys-field.tsx';
import { MaxDurationField } from './max-duration-field.tsx';
import { ImageField, RegionField } from './place-fields.tsx';
import { suggestName } from './rules.ts';
import { Summary } from './summary.tsx';
import type { Sku } from './types.ts';
import { type EstimateQuery, useCatalog, useEstimate, useLaunchSearch } from './use-launch.ts';
import { UserDataField } from './user-data-field.tsx';
import { alternativesIn, reasonsInWords } from './verdict.ts';
import { Alternatives, Reasons } from './verdict-panel.tsx';

const FORM_ID = 'launch-form';

/** Only a request that is known to be refused is not sent. */
const notFitting = (form: LaunchForm, estimate: EstimateQuery): string | null => {
  if (!estimate.isCurrent || estimate.data === undefined) return null;
  const problem = choiceProblem(form, estimate.data);
  if (problem !== null || estimate.data.fits_now) return problem;
  return `Not available now. ${reasonsInWords(estimate.data.reasons)[0]?.text ?? ''}`.trim();
};

const Refused = ({
  launch,
  form,
  skus,
  onTake,
}: Readonly<{
  launch: Change<'allocationCreate'>;
  form: LaunchForm;
  skus: readonly Sku[];
  onTake(patch: LaunchSearch): void;
}>) => {
  if (launch.error === null) return null;
  const { reasons, alternatives } = launch.error;
  return (
    <ErrorPanel error={launch.error}>
      {reasons.length > 0 && (
        <Reasons reasons={reasons}>
          <Alternatives alternatives={alternativesIn(alternatives)} form={form} skus={skus} onTake={onTake} />
        </Reasons>
      )}
    </ErrorPanel>
  );
};

const Form = ({ projectId }: Readonly<{ projectId: string }>) => {
  const navigate = useNavigate();
  const mayLaunch = useMay();
  const { search, update: updateSearch } = useLaunchSearch();
  const { catalog, capacity, isReady, isLoadingImages, error, refetch } = useCatalog(search, projectId);
  const [suggestedName] = useState(() => suggestName(Math.random));
  const [userData, setUserData] = useState('');
  const launch = useChange('allocationCreate');
  const form = formOf(search, catalog, { suggestedName, userData });
  const estimate = useEstimate(form, projectId);
  if (!isReady) return error === null ? <Loading rows={10} /> : <ErrorPanel error={error} onRetry={refetch} />;

  const problems = isLoadingImages ? {} : problemsOf(form);
  const disabledReason =
    mayLaunch('allocation.create', { project: projectId }) ?? Object.values(problems)[0] ?? notFitting(form, estimate);
  /** A refusal belongs to the request that was sent: it disappears when the form changes. */
  const update = (patch: LaunchSearch): void => {
    if (launch.error !== null) launch.reset();
    updateSearch(patch);
  };
  const submit = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    const body = bodyOf(form);
    if (body === null || disabledReason !== null) return;
    const answer = await launch.run({ params: { project_id: projectId }, body });
    if (answer === null) return;
    await navigate({
      to: '/projects/$projectId/allocations/$allocationId',
      params: { projectId, allocationId: answer.data.id },
    });
  };
  const fields = { form, catalog, capacity, problems, update };
  const button = (
    <ActionButton type="submit" loading={launch.isRunning} disabledReason={disabledReason}>
      Launch
    </ActionButton>
  );
  return (
    <form id={FORM_ID} aria-label="Launch" noValidate onSubmit={(event) => void submit(event)}>
      {error !== null && <ErrorPanel error={error} onRetry={refetch} />}
      <div className="launch">
        <div className="launch-choices">
          <HardwareFields {...fields} />
          <RegionField {...fields} />
          <ImageField {...fields} isLoading={isLoadingImages} />
          <KeysField {...fields} />
          <MaxDurationField {...fields} />
          <DetailsFields {...fields} />
          <StorageAndNetwork form={form} estimate={estimate} update={update} />
          <UserDataField
            value={userData}
            problem={problems.userData}
            isSlice={form.sku?.capacity_shape === 'gpu_slice'}
            onChange={setUserData}
          />
        </div>
        <div className="launch-summary">
          <Summary form={form} skus={catalog.skus} projectId={projectId} estimate={estimate} onTake={update}>
            <Refused launch={launch} form={form} skus={catalog.skus} onTake={update} />
            {button}
            <Text size="sm" className="muted" mih={20}>
              {disabledReason ?? `Launches ${form.name} and opens its page.`}
            </Text>
          </Summary>
        </div>
      </div>
      <div className="launch-bar">
        <div>
          <strong className="tabular">
            {estimate.data === undefined ? '…' : `${money(estimate.data.price_per_hour)} per hour`}
          </strong>
          <Text size="sm" className="muted">
            {disabledReason ?? (estimate.data?.fits_now ? 'Available now.' : 'Checking availability.')}
          </Text>
        </div>
        {button}
      </div>
    </form>
  );
};

export const LaunchPage = () => {
  const { projectId = '' } = useParams({ strict: false });
  return (
    <Page title="Launch" subtitle="All fields have defaults. The page address contains your choices.">
      <Form key={projectId} projectId={projectId} />
    </Page>
  );
};
