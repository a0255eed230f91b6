import type { ItemOf } from '../../api/read.ts';
import type { Catalog, LaunchForm, LaunchSearch, Problems } from './form.ts';

/** What every part of the form is given. */
export type FieldProps = Readonly<{
  form: LaunchForm;
  catalog: Catalog;
  capacity: readonly ItemOf<'capacityList'>[];
  problems: Problems;
  update(patch: LaunchSearch): void;
}>;
