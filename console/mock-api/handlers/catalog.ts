import { type MockCtx, must, type Req } from '../core/context.ts';
import { asIs, pageOf } from '../core/page.ts';
import { tenantImage, tenantSku } from '../views/catalog.ts';

const nameOf = (row: Readonly<{ name: string }>): string => row.name;

const isLive = (row: Readonly<{ retired_at: string | null }>): boolean => row.retired_at === null;

export const catalog = {
  regionList: async (ctx: MockCtx, { query }: Req<'regionList'>) =>
    pageOf(ctx, query, ctx.world.regions.filter(isLive), nameOf, asIs),
  skuList: async (ctx: MockCtx, { query }: Req<'skuList'>) => {
    const { capacity_shape: shape } = query;
    const rows = ctx.world.skus.filter(isLive).filter((sku) => shape === undefined || sku.capacity_shape === shape);
    return pageOf(ctx, query, rows, nameOf, (sku) => tenantSku(ctx.world, sku));
  },
  skuGet: async (ctx: MockCtx, { params }: Req<'skuGet'>) =>
    tenantSku(
      ctx.world,
      must(
        ctx.world.skus.filter(isLive).find((sku) => sku.name === params.sku_name),
        'SKU',
      ),
    ),
  osImageList: async (ctx: MockCtx, { query }: Req<'osImageList'>) => {
    const { sku_name: sku } = query;
    const rows = ctx.world.images.filter(isLive).filter((image) => sku === undefined || image.sku_names.includes(sku));
    return pageOf(ctx, query, rows, nameOf, (image) => tenantImage(ctx.world, image));
  },
  osImageGet: async (ctx: MockCtx, { params }: Req<'osImageGet'>) =>
    tenantImage(
      ctx.world,
      must(
        ctx.world.images.filter(isLive).find((image) => image.name.toLowerCase() === params.image_name.toLowerCase()),
        'image',
      ),
    ),
};
