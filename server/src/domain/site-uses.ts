/** What keeps a plan of a site file from being carried out: SKUs that it leaves enabled, without what they need. */
import { type CatalogUse, profileUses, useOf } from './catalog.ts';
import { type DefaultImage, isDefaultable, losesDefault, skusLosingDefault } from './image-default.ts';
import { type PlannedChange, SITE_RULES, type Site } from './site.ts';

/** The images before and after a plan, as far as launches are concerned. */
export type PlannedImages = Readonly<{ now: readonly DefaultImage[]; after: readonly DefaultImage[] }>;

/**
 * What the file needs of a row that it removes, or of an image that it changes, beside what the site itself uses: SKUs that
 * it leaves enabled.
 */
export const usesInFile = (change: PlannedChange, file: Site, actual: Site, images: PlannedImages): CatalogUse[] => {
  const skus = (file.skus ?? actual.skus ?? []).map(SITE_RULES.skus.canonical);
  if (change.section === 'vm_profiles' && change.before !== null) {
    const { before } = change;
    const others = (file.vm_profiles ?? []).map(SITE_RULES.vm_profiles.canonical);
    return profileUses(
      before,
      skus.find(({ name }) => name === before.sku_name),
      others,
    );
  }
  if (change.section !== 'images') return [];
  const isIt = ({ name }: DefaultImage) => name === change.name;
  const [before, after] = [images.now.find(isIt), images.after.find(isIt)];
  if (before === undefined) return [];
  return useOf(
    'SKU',
    skusLosingDefault(skus, images.now, images.after).filter((name) => losesDefault(name, before, after)),
  );
};

/** Whether the plan changes or removes an image that launches may get by default. */
export const changesImages = (changes: readonly PlannedChange[]): boolean =>
  changes.some(({ section, before }) => section === 'images' && before !== null);

/** What the plan leaves of the images. One that it adds is no default before a host has fetched it. */
export const imagesAfter = (now: readonly DefaultImage[], changes: readonly PlannedChange[]): DefaultImage[] =>
  now.flatMap((image) => {
    const change = changes.find(({ section, name }) => section === 'images' && name === image.name);
    if (change?.section !== 'images') return [image];
    const { after } = change;
    if (after === null) return [];
    const default_regions = isDefaultable(after) ? image.available_regions : [];
    return [{ ...image, sku_names: after.sku_names, default_regions }];
  });
