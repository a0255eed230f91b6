/**
 * A site file in the page: the current one, its draft, its plan and its application. A plan belongs to the text that was
 * planned. When the site has changed since, the same text is planned again at once, and the new plan needs a new review.
 */
import type { GpuaasError, SiteFile } from '@gpuaas/sdk';
import { type UseQueryResult, useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { useBackend } from '../../api/backend.tsx';
import { callOperation } from '../../api/call.ts';
import { type Change as ApiChange, asError, useChange } from '../../api/change.ts';
import { useMe } from '../../api/me.tsx';
import { readKey } from '../../api/read.ts';
import type { Change, Plan } from './file-changes.ts';
import { keepDraft, readDraft } from './file-draft.ts';

/** The parser is larger than this page, so it comes when it is needed. */
const fileCode = () => import('@gpuaas/sdk/site-file');

/** `line` is null for a problem of the whole file. */
export type FileProblem = Readonly<{ line: number | null; name: string; message: string }>;

export type Outcome =
  | Readonly<{ kind: 'none' }>
  | Readonly<{ kind: 'planned'; text: string; site: SiteFile; plan: Plan; notice: string | null }>
  | Readonly<{ kind: 'problems'; text: string; problems: readonly FileProblem[]; correlation_id: string | null }>
  | Readonly<{ kind: 'failed'; error: GpuaasError }>
  | Readonly<{ kind: 'applied'; text: string; changes: readonly Change[]; correlation_id: string | null }>;

export type SiteFileState = Readonly<{
  current: UseQueryResult<string, GpuaasError>;
  /** Null while the shown file is that of the site. */
  draft: string | null;
  edit(text: string | null): void;
  outcome: Outcome;
  isPlanning: boolean;
  plan(text: string): Promise<void>;
  application: Pick<ApiChange<'adminSiteApply'>, 'isRunning' | 'error'>;
  /** True where it was applied. */
  apply(planned: Extract<Outcome, { kind: 'planned' }>): Promise<boolean>;
}>;

const problemsOf = (
  { errors }: GpuaasError,
  placeOf: (pointer: string) => Readonly<{ line: number; name: string }> | null,
): FileProblem[] =>
  errors.flatMap(({ pointer, message }) => {
    const place = placeOf(pointer);
    return place === null ? [] : [{ ...place, message }];
  });

const usePlanning = () => {
  const { client } = useBackend();
  const queries = useQueryClient();
  /** The text as a plan, its problems, or why neither is known. */
  return async (text: string, notice: string | null): Promise<Outcome> => {
    const read = (await fileCode()).readSiteText(text);
    if ('wrong' in read) {
      const { line, message } = read.wrong;
      return { kind: 'problems', text, problems: [{ line, name: '', message }], correlation_id: null };
    }
    const { site, placeOf } = read;
    const request = { body: { site } };
    try {
      const plan = await queries.fetchQuery<Plan>({
        queryKey: readKey('adminSitePlan', request),
        queryFn: async ({ signal }) => (await callOperation(client, 'adminSitePlan', request, { signal })).data,
        ...{ staleTime: 0, gcTime: 0 },
      });
      return { kind: 'planned', text, site, plan, notice };
    } catch (err) {
      const error = asError(err);
      const problems = problemsOf(error, placeOf);
      const { correlation_id } = error;
      return problems.length === 0 ? { kind: 'failed', error } : { kind: 'problems', text, problems, correlation_id };
    }
  };
};

const useCurrent = (): UseQueryResult<string, GpuaasError> => {
  const { client } = useBackend();
  return useQuery<string, GpuaasError>({
    queryKey: [...readKey('adminSiteExport', {}), 'text'],
    queryFn: async ({ signal }) => {
      try {
        const [{ data }, { siteText }] = await Promise.all([
          callOperation(client, 'adminSiteExport', {}, { signal }),
          fileCode(),
        ]);
        return siteText(data, globalThis.location.origin);
      } catch (err) {
        throw asError(err);
      }
    },
  });
};

export const useSiteFile = (): SiteFileState => {
  const { id } = useMe();
  const current = useCurrent();
  const outcomeOf = usePlanning();
  const change = useChange('adminSiteApply');
  const [draft, setDraft] = useState(() => readDraft(id));
  const [outcome, setOutcome] = useState<Outcome>({ kind: 'none' });
  const [isPlanning, setPlanning] = useState(false);

  const plan = async (text: string, notice: string | null = null): Promise<void> => {
    setPlanning(true);
    const found = await outcomeOf(text, notice).catch((err): Outcome => ({ kind: 'failed', error: asError(err) }));
    setOutcome(found);
    setPlanning(false);
  };

  const { error, reset } = change;
  // biome-ignore lint/correctness/useExhaustiveDependencies: only a new refusal plans again.
  useEffect(() => {
    if (error?.code !== 'conflict' || outcome.kind !== 'planned') return;
    reset();
    void plan(outcome.text, error.detail);
  }, [error]);

  return {
    current,
    draft,
    edit: (text) => {
      setDraft(text);
      keepDraft(id, text);
    },
    outcome,
    isPlanning,
    plan,
    application: change,
    apply: async ({ text, site, plan: { hash } }) => {
      const answer = await change.run({ body: { site, hash } });
      if (answer === null) return false;
      keepDraft(id, null);
      setOutcome({ kind: 'applied', text, changes: answer.data.changes, correlation_id: answer.correlation_id });
      return true;
    },
  };
};
