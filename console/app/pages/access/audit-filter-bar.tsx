/** Audit filters. Text applies on Enter, selections immediately. All filters are part of the address. */
import { AUDIT_RESULTS } from '@gpuaas/sdk';
import { Button, Group, Select, TextInput } from '@mantine/core';
import { type FormEvent, useEffect, useState } from 'react';
import { type AuditSearch, fieldFromTime, hasFilters, timeFromField } from './audit-filters.ts';

type Choice = Readonly<{ value: string; label: string }>;
const SPANS = [
  { label: '1 h', ms: 3_600_000 },
  { label: '24 h', ms: 86_400_000 },
  { label: '7 d', ms: 7 * 86_400_000 },
] as const;

export const AuditFilterBar = ({
  search,
  projects,
  isPlatform,
  onChange,
}: Readonly<{
  search: AuditSearch;
  projects: readonly Choice[];
  isPlatform: boolean;
  onChange(search: AuditSearch): void;
}>) => {
  const [draft, setDraft] = useState<AuditSearch>(search);
  // A link in a row also changes the address; the fields follow it.
  const applied = JSON.stringify(search);
  useEffect(() => setDraft(JSON.parse(applied) as AuditSearch), [applied]);
  const type = (name: keyof AuditSearch) => (event: { currentTarget: { value: string } }) =>
    setDraft({ ...draft, [name]: event.currentTarget.value.trim() || undefined });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    onChange(draft);
  };
  const apply = (change: AuditSearch) => {
    setDraft({ ...draft, ...change });
    onChange({ ...draft, ...change });
  };
  const since = (ms: number) => {
    const { until: _, ...rest } = draft;
    const next = { ...rest, since: `${new Date(Date.now() - ms).toISOString().slice(0, 19)}Z` };
    setDraft(next);
    onChange(next);
  };
  const field = (name: 'action' | 'actor' | 'target' | 'correlation' | 'organization', label: string, hint: string) => (
    <TextInput label={label} placeholder={hint} value={draft[name] ?? ''} onChange={type(name)} spellCheck={false} />
  );
  const time = (name: 'since' | 'until', label: string) => (
    <TextInput
      type="datetime-local"
      label={label}
      value={fieldFromTime(draft[name])}
      onChange={(event) => {
        const value = timeFromField(event.currentTarget.value);
        const { [name]: _, ...rest } = draft;
        setDraft(value === undefined ? rest : { ...rest, [name]: value });
      }}
    />
  );
  return (
    <form onSubmit={submit} className="audit-filters" aria-label="Filters">
      {field('action', 'Action', 'project.create')}
      {field('actor', 'Actor', 'usr_… or sva_…')}
      {field('target', 'Target', 'alc_…')}
      {isPlatform ? (
        field('organization', 'Organization', 'org_…')
      ) : (
        <Select
          label="Project"
          placeholder="All"
          data={[...projects]}
          value={draft.project ?? null}
          clearable
          searchable
          onChange={(value) => apply({ project: value ?? undefined })}
        />
      )}
      <Select
        label="Result"
        placeholder="All"
        data={[...AUDIT_RESULTS]}
        value={draft.result ?? null}
        clearable
        onChange={(value) => apply({ result: value ?? undefined })}
      />
      {field('correlation', 'Correlation ID', 'c-…')}
      {time('since', 'From (UTC)')}
      {time('until', 'Until (UTC)')}
      <Group gap="xs" align="flex-end" className="audit-filter-buttons">
        <Button type="submit">Apply</Button>
        {SPANS.map(({ label, ms }) => (
          <Button key={label} variant="default" aria-label={`Last ${label}`} onClick={() => since(ms)}>
            {label}
          </Button>
        ))}
        {hasFilters(search) && (
          <Button
            variant="subtle"
            onClick={() => {
              setDraft({});
              onChange({});
            }}
          >
            Clear
          </Button>
        )}
      </Group>
    </form>
  );
};
