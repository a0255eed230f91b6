/** Approved values beside discovered ones. */
import { TableScroll } from '../../ui/table-scroll.tsx';
import { type DiffRow, diffRows } from './diff.ts';

export const DiffTable = ({ diff, label }: Readonly<{ diff: Parameters<typeof diffRows>[0]; label: string }>) => (
  <TableScroll label={label}>
    <table className="table">
      <thead>
        <tr>
          <th scope="col">Field</th>
          <th scope="col">Approved</th>
          <th scope="col">Found</th>
        </tr>
      </thead>
      <tbody>
        {diffRows(diff).map(({ field, label: name, approved, found }: DiffRow) => (
          <tr key={field}>
            <th scope="row">{name}</th>
            <td className="mono diff-gone">
              <span aria-hidden>− </span>
              {approved}
            </td>
            <td className="mono diff-come">
              <span aria-hidden>+ </span>
              {found}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  </TableScroll>
);
