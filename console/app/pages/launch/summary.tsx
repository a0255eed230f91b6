/** Always beside the form: price, remaining quota, whether it fits, and the equivalent command. */
import { Stack, Tabs } from '@mantine/core';
import type { ReactNode } from 'react';
import { useRead } from '../../api/read.ts';
import { money } from '../../format/money.ts';
import { span } from '../../format/time.ts';
import { CopyBlock } from '../../ui/copy.tsx';
import { ErrorPanel } from '../../ui/error-panel.tsx';
import { Loading } from '../../ui/loading.tsx';
import { Facts, Section } from '../../ui/page.tsx';
import { cliCommand, curlCommand, USER_DATA_FILE } from './equivalents.ts';
import { type LaunchForm, type LaunchSearch, maxDurationOf } from './form.ts';
import type { Sku } from './types.ts';
import type { EstimateQuery } from './use-launch.ts';
import { type Estimate, maxDurationPrice, quotaSentence } from './verdict.ts';
import { FitPanel } from './verdict-panel.tsx';

const Price = ({ estimate, form }: Readonly<{ estimate: Estimate; form: LaunchForm }>) => {
  const seconds = maxDurationOf(form.hours);
  return (
    <>
      <div>
        <span className="price-hour tabular">{money(estimate.price_per_hour)}</span> per hour
      </div>
      <Facts
        facts={[
          ['Per day', money(estimate.price_per_day)],
          ['Per month', `${money(estimate.price_per_month)} (730 hours)`],
          ...(seconds === null || seconds <= 0
            ? []
            : [
                [
                  `For ${span(seconds * 1_000)}`,
                  `${money(maxDurationPrice(estimate.price_per_hour, seconds))} maximum`,
                ] as const,
              ]),
        ]}
      />
      <span className="muted">
        Charged per second from activation until release, also while powered off. Before tax.
      </span>
    </>
  );
};

const QuotaAfter = ({ projectId, added }: Readonly<{ projectId: string; added: number }>) => {
  const quota = useRead('quotaGet', { params: { project_id: projectId } });
  if (quota.data === undefined) return <div className="launch-quota" />;
  const { project, organization } = quota.data;
  return (
    <div className="launch-quota">
      <div className="muted">Quota after launch</div>
      <div>{quotaSentence('project', project, added)}</div>
      <div>{quotaSentence('organization', organization, added)}</div>
    </div>
  );
};

const Equivalents = ({ form, projectId }: Readonly<{ form: LaunchForm; projectId: string }>) => (
  <Tabs defaultValue="cli" keepMounted={false}>
    <Tabs.List aria-label="Equivalent commands">
      <Tabs.Tab value="cli">CLI</Tabs.Tab>
      <Tabs.Tab value="curl">curl</Tabs.Tab>
    </Tabs.List>
    <Tabs.Panel value="cli" pt="xs">
      <CopyBlock text={cliCommand(form, projectId)} label="command" />
      {form.userData !== '' && <span className="muted">Save the user data as {USER_DATA_FILE} first.</span>}
    </Tabs.Panel>
    <Tabs.Panel value="curl" pt="xs">
      <CopyBlock text={curlCommand(form, projectId, globalThis.location.origin)} label="curl" />
    </Tabs.Panel>
  </Tabs>
);

export const Summary = ({
  form,
  skus,
  projectId,
  estimate,
  onTake,
  children,
}: Readonly<{
  form: LaunchForm;
  skus: readonly Sku[];
  projectId: string;
  estimate: EstimateQuery;
  onTake(patch: LaunchSearch): void;
  /** The button and the result. */
  children: ReactNode;
}>) => (
  <Section title="Price and capacity">
    <Stack gap="sm">
      <div className="launch-estimate">
        {estimate.data !== undefined ? (
          <Stack gap="sm" className={estimate.isCurrent ? '' : 'is-old'} aria-busy={!estimate.isCurrent}>
            <Price estimate={estimate.data} form={form} />
            <FitPanel estimate={estimate.data} form={form} skus={skus} onTake={onTake} />
          </Stack>
        ) : estimate.error !== null ? (
          <ErrorPanel error={estimate.error} onRetry={() => void estimate.refetch()} />
        ) : (
          <Loading rows={6} label="Loading price and capacity" />
        )}
      </div>
      <QuotaAfter projectId={projectId} added={form.gpuCount} />
      {children}
      <Equivalents form={form} projectId={projectId} />
    </Stack>
  </Section>
);
