import type { ItemOf } from '../../api/read.ts';
import type { Catalog, LaunchForm, LaunchSearch, Problems } from './form.ts';

/** The props of every part of the form. */
export type FieldProps = Readonly<{
  form: LaunchForm;
  catalog: Catalog;
  capacity: readonly ItemOf<'capacityList'>[];
  problems: Problems;
  update(patch: LaunchSearch): void;
}>;
