/** The changes of a site file, grouped: each with its values before and after, and whether it is blocked. */
import { Title } from '@mantine/core';
import { ToneBadge } from '../../ui/state-badge.tsx';
import { ACTION_WORDS, type Change, groupsOf, SECTION_WORDS } from './file-changes.ts';
import './site.css';
import './site-file.css';

const Values = ({ change }: Readonly<{ change: Change }>) => {
  const isNew = change.action === 'create';
  const fields = change.fields.filter(({ before, after }) => (isNew ? after !== null : before !== after));
  if (fields.length === 0) return null;
  return (
    <dl className="site-file-values">
      {fields.map(({ name, before, after }) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd className="mono">
            {!isNew && (
              <>
                <del>{before ?? 'none'}</del>
                <span aria-hidden> → </span>
              </>
            )}
            {isNew ? after : <ins>{after ?? 'none'}</ins>}
          </dd>
        </div>
      ))}
    </dl>
  );
};

const Row = ({ change }: Readonly<{ change: Change }>) => {
  const [word, tone] = ACTION_WORDS[change.action];
  return (
    <li className="site-row">
      <ToneBadge tone={change.blockers.length > 0 ? 'bad' : tone}>
        {change.blockers.length > 0 ? `${word}: blocked` : word}
      </ToneBadge>
      <div className="site-text">
        <span className="muted">{SECTION_WORDS[change.section]}</span> <strong>{change.name}</strong>
        <Values change={change} />
      </div>
    </li>
  );
};

export const ChangesList = ({ changes }: Readonly<{ changes: readonly Change[] }>) =>
  groupsOf(changes).map(({ title, changes: rows }) => (
    <section key={title} aria-label={title}>
      <Title order={3} className="site-file-group">
        {title} ({rows.length})
      </Title>
      <ul className="site-list">
        {rows.map((change) => (
          <Row key={`${change.section} ${change.name} ${change.action}`} change={change} />
        ))}
      </ul>
    </section>
  ));
