/** GPU sets that the fabric can join by NVLink. */

import { ToneBadge } from '../../ui/state-badge.tsx';
import { TableScroll } from '../../ui/table-scroll.tsx';
import type { Topology } from './topology.ts';

export const LinkSetTable = ({ sets }: Readonly<{ sets: Topology['linkSets'] }>) => (
  <TableScroll label="NVLink sets">
    <table className="table">
      <thead>
        <tr>
          <th scope="col">Set</th>
          <th scope="col">GPUs</th>
          <th scope="col">Modules</th>
          <th scope="col">State</th>
        </tr>
      </thead>
      <tbody>
        {sets.map(({ id, modules, isActive }) => (
          <tr key={id}>
            <td>{id}</td>
            <td>{modules.length}</td>
            <td className="mono">{modules.join(' ')}</td>
            <td>
              <ToneBadge tone={isActive ? 'good' : 'idle'}>{isActive ? 'Active' : 'Not active'}</ToneBadge>
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  </TableScroll>
);
