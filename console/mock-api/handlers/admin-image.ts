import { IMAGE_DEFAULTS, imageSkuProblem, useOf } from '../../../server/src/domain/catalog.ts';
import { skusLosingDefault } from '../../../server/src/domain/image-default.ts';
import { REFUSALS } from '../../../server/src/domain/sentences.ts';
import { assertVersion, type MockCtx, must, type Req } from '../core/context.ts';
import { conflict, invalidField } from '../core/errors.ts';
import { pageOf } from '../core/page.ts';
import type { OsImage } from '../core/rows.ts';
import type { World } from '../core/world.ts';
import { defaultImage, defaultImages, operatorImage } from '../views/catalog.ts';
import { assertUnused } from './admin-catalog.ts';

type Version = OsImage['versions'][number];
type RegisterBody = Req<'adminOsImageRegister'>['body'];

/** The image as its newest version that is not retired; where all are, as its newest. */
const settle = (image: OsImage): OsImage => {
  const usable = image.versions.find((one) => one.retired_at === null);
  image.enabled = usable !== undefined && image.retired_at === null;
  const newest = usable ?? image.versions[0];
  if (newest === undefined) return image;
  const { registered_at: _, retired_at: __, retired_reason: ___, ...version } = newest;
  return Object.assign(image, version);
};

export const imageNamed = (world: World, name: string): OsImage | undefined =>
  world.images.find((one) => one.name.toLowerCase() === name.toLowerCase());

const assertSkus = (world: World, names: readonly string[]): void => {
  const skus = world.skus.filter(({ retired_at }) => retired_at === null);
  const [problem] = names.flatMap((name) => imageSkuProblem(name, skus) ?? []);
  if (problem !== undefined) throw invalidField('sku_names', problem.problem, problem.code);
};

export const retireImage = (ctx: MockCtx, name: string): OsImage => {
  const image = must(imageNamed(ctx.world, name), 'image');
  if (image.retired_at !== null) throw conflict(REFUSALS.image_gone(image.name));
  Object.assign(image, { retired_at: ctx.world.ago(), version: image.version + 1 });
  return settle(image);
};

/** With this in place of the image. */
const assertDefaultsStay = (world: World, image: OsImage, changed: OsImage): void => {
  const after = world.images
    .map((one) => (one === image ? changed : one))
    .filter(({ retired_at }) => retired_at === null);
  const losing = skusLosingDefault(
    world.skus.filter(({ retired_at }) => retired_at === null),
    defaultImages(world),
    after.map((one) => defaultImage(world, one)),
  );
  assertUnused('image', image.name, useOf('SKU', losing));
};

/** A new image, a new version of one, or a retired image that comes back. */
export const registerImage = (world: World, body: RegisterBody, check = (_: OsImage, __: OsImage) => {}): OsImage => {
  assertSkus(world, body.sku_names);
  const {
    name,
    display_name,
    os_family,
    os_version,
    sku_names,
    channel,
    trust = IMAGE_DEFAULTS.trust,
    ...build
  } = body;
  const version = { ...build, boot_kind: build.boot_kind ?? IMAGE_DEFAULTS.boot_kind };
  const before = imageNamed(world, name);
  const known = before?.versions.find((one) => one.digest === body.digest);
  if (known !== undefined && (before?.retired_at === null || known.retired_at !== null))
    throw conflict(REFUSALS.image_registered);
  const made: Version = { ...version, registered_at: world.ago(), retired_at: null, retired_reason: null };
  const words = { display_name, os_family, os_version, sku_names, trust };
  if (before === undefined) {
    const image: OsImage = {
      ...version,
      ...words,
      name,
      channel: channel ?? IMAGE_DEFAULTS.channel,
      enabled: true,
      versions: [made],
      retired_at: null,
      version: 1,
    };
    world.images.push(image);
    return image;
  }
  const versions = known === undefined ? [made, ...before.versions] : before.versions;
  const change = { ...words, versions, channel: channel ?? before.channel, retired_at: null };
  check(before, settle({ ...before, ...change }));
  return settle(Object.assign(before, change, { version: before.version + 1 }));
};

export const changeImage = (world: World, image: OsImage, body: Req<'adminOsImageUpdate'>['body']): OsImage => {
  if (body.sku_names !== undefined) assertSkus(world, body.sku_names);
  return Object.assign(image, body, { version: image.version + 1 });
};

export const adminImage = {
  adminOsImageList: async (ctx: MockCtx, { query }: Req<'adminOsImageList'>) =>
    pageOf(
      ctx,
      query,
      ctx.world.images.filter((one) => query.include_retired === true || one.retired_at === null),
      (one) => one.name,
      (one) => operatorImage(ctx.world, one),
    ),
  adminOsImageGet: async (ctx: MockCtx, { params }: Req<'adminOsImageGet'>) =>
    operatorImage(ctx.world, must(imageNamed(ctx.world, params.image_name), 'image')),
  adminOsImageRegister: async (ctx: MockCtx, { body }: Req<'adminOsImageRegister'>) => {
    const { world } = ctx;
    return operatorImage(
      world,
      registerImage(world, body, (image, changed) => assertDefaultsStay(world, image, changed)),
    );
  },
  adminOsImageUpdate: async (ctx: MockCtx, { params, body, if_match }: Req<'adminOsImageUpdate'>) => {
    const image = must(imageNamed(ctx.world, params.image_name), 'image');
    if (image.retired_at !== null) throw conflict(REFUSALS.catalog_retired('image', image.name));
    assertVersion(image, if_match);
    assertDefaultsStay(ctx.world, image, { ...image, ...body });
    return operatorImage(ctx.world, changeImage(ctx.world, image, body));
  },
  adminOsImageRetire: async (ctx: MockCtx, { params, body }: Req<'adminOsImageRetire'>) => {
    const { world } = ctx;
    const image = must(imageNamed(world, params.image_name), 'image');
    const versions = image.versions.filter(({ digest }) => body.digest !== undefined && digest !== body.digest);
    assertDefaultsStay(world, image, settle({ ...image, versions, enabled: false }));
    if (body.digest === undefined) return operatorImage(world, retireImage(ctx, image.name));
    const version = must(
      image.versions.find((one) => one.digest === body.digest),
      'version of this image',
    );
    if (version.retired_at !== null) throw conflict(REFUSALS.image_retired);
    Object.assign(version, { retired_at: world.ago(), retired_reason: body.reason });
    return operatorImage(world, settle(image));
  },
};
