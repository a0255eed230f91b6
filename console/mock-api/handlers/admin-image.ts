import { FIELD_MESSAGES, REFUSALS } from '../../../server/src/domain/sentences.ts';
import { type MockCtx, must, type Req } from '../core/context.ts';
import { conflict, invalidField } from '../core/errors.ts';
import type { OsImage } from '../core/rows.ts';

type Version = OsImage['versions'][number];

/** The image as its newest version that is not retired. */
const settle = (image: OsImage): OsImage => {
  const newest = image.versions.find((one) => one.retired_at === null);
  image.enabled = newest !== undefined;
  if (newest === undefined) return image;
  const { registered_at: _, retired_at: __, retired_reason: ___, ...version } = newest;
  return Object.assign(image, version);
};

export const adminImage = {
  adminOsImageRegister: async (ctx: MockCtx, { body }: Req<'adminOsImageRegister'>) => {
    const { world } = ctx;
    const unknown = body.sku_names.filter((name) => !world.skus.some((sku) => sku.name === name));
    if (unknown.length > 0) throw invalidField('sku_names', FIELD_MESSAGES.sku_unknown(unknown), 'unknown');
    const { name, display_name, os_family, os_version, sku_names, ...version } = body;
    const made: Version = { ...version, registered_at: world.ago(), retired_at: null, retired_reason: null };
    let image = world.images.find((one) => one.name.toLowerCase() === name.toLowerCase());
    if (image?.versions.some((one) => one.digest === body.digest)) throw conflict(REFUSALS.image_registered);
    if (image === undefined) {
      image = { ...version, name, display_name, os_family, os_version, sku_names, enabled: true, versions: [] };
      world.images.push(image);
    }
    Object.assign(image, { display_name, os_family, os_version, sku_names });
    image.versions.unshift(made);
    return settle(image);
  },
  adminOsImageRetire: async (ctx: MockCtx, { params, body }: Req<'adminOsImageRetire'>) => {
    const image = must(
      ctx.world.images.find((one) => one.name.toLowerCase() === params.image_name.toLowerCase()),
      'image',
    );
    const version = must(
      image.versions.find((one) => one.digest === body.digest),
      'version of this image',
    );
    if (version.retired_at !== null) throw conflict(REFUSALS.image_retired);
    Object.assign(version, { retired_at: ctx.world.ago(), retired_reason: body.reason });
    return settle(image);
  },
};
