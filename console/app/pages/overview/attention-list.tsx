import { IconAlertTriangle, IconCircleX } from '@tabler/icons-react';
import { Link } from '@tanstack/react-router';
import { Section } from '../../ui/page.tsx';
import type { AttentionRow } from './attention.ts';

const ICONS = { bad: IconCircleX, warn: IconAlertTriangle };

/** Items that need attention, each with the cause and the next action. */
export const AttentionList = ({ rows, projectId }: Readonly<{ rows: readonly AttentionRow[]; projectId: string }>) => (
  <Section title="Needs attention" flush>
    <ul className="attention">
      {rows.map(({ allocation, attention }) => {
        const Icon = ICONS[attention.tone];
        return (
          <li key={`${allocation.id} ${attention.kind}`}>
            <span data-tone={attention.tone}>
              <Icon size={18} aria-hidden />
            </span>
            <div>
              <Link
                className="link"
                to="/projects/$projectId/allocations/$allocationId"
                params={{ projectId, allocationId: allocation.id }}
              >
                {allocation.name}
              </Link>
              <div>{attention.sentence}</div>
              <div className="muted">{attention.next}</div>
            </div>
          </li>
        );
      })}
    </ul>
  </Section>
);
