/** What can be chosen in a form because it exists. */
import { useAll } from '../api/read.ts';
import type { Choice } from './form.ts';

/** Bare metal has no image. */
export const useSliceSkuChoices = (): readonly Choice[] =>
  (useAll('adminSkuList', {}).data ?? [])
    .filter(({ capacity_shape }) => capacity_shape === 'gpu_slice')
    .map(({ name }) => ({ value: name, label: name }));
export const usePoolChoices = (): readonly Choice[] =>
  (useAll('adminPoolList', {}).data ?? []).map(({ name, organization_name }) => ({
    value: name,
    label: organization_name === null ? name : `${name}, dedicated to ${organization_name}`,
  }));
export const useOrganizationChoices = (): readonly Choice[] =>
  (useAll('adminOrganizationList', {}).data ?? []).map(({ id, name, display_name }) => ({
    value: id,
    label: display_name === name ? name : `${name} (${display_name})`,
  }));
