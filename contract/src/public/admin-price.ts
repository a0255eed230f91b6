import Type from 'typebox';
import { Closed, Money, Name, Nullable, Page, PageQuery, StringEnum, Time } from '../common.ts';
import { define } from '../define.ts';
import { Id } from '../ids.ts';
import { operatorChanges, operatorReads, Reason } from './operator.ts';

const tag = 'Catalog';
export const PRICE_STATES = ['past', 'current', 'future', 'cancelled'] as const;

/** What an operator sets of a price. */
export const PriceSpec = Closed({
  sku_name: Name('SKU that it is for.'),
  gpu_hourly_price_minor: Type.Integer({
    minimum: 0,
    maximum: 10_000_000,
    description: 'Price per GPU hour in minor units, e.g. cents.',
  }),
  currency: Type.String({ pattern: '^[A-Z]{3}$', description: 'ISO 4217 code.', examples: ['USD'] }),
  valid_from: Type.Optional(Time('When it takes effect (default: now). Not in the past.')),
});

export const Price = Closed({
  id: Id('price'),
  sku_name: Name(),
  gpu_hourly_price: Money,
  valid_from: Time('When it took or takes effect.'),
  valid_until: Nullable(
    Time('When the next price takes effect, or its SKU was retired; null without either, and for a cancelled price.'),
  ),
  state: StringEnum(PRICE_STATES),
  created_by: Nullable(Type.String({ description: 'Who set it; null for a price from before an upgrade.' })),
  created_at: Time('When it was set.'),
  cancelled_at: Nullable(Time('When it was cancelled, before it took effect.')),
});

export const adminPriceApi = define({
  adminPriceList: {
    ...operatorReads(tag),
    path: '/api/v1/admin/prices',
    summary: 'List prices with history and future, newest first',
    permission: 'admin.catalog.read',
    query: Closed({ ...PageQuery, sku_name: Type.Optional(Name('Only prices of this SKU.')) }),
    response: Page(Price),
  },
  adminPriceGet: {
    ...operatorReads(tag),
    path: '/api/v1/admin/prices/{price_id}',
    summary: 'Get a price, also a past or cancelled one',
    permission: 'admin.catalog.read',
    params: Closed({ price_id: Id('price') }),
    response: Price,
  },
  adminPriceCreate: {
    ...operatorChanges(tag),
    path: '/api/v1/admin/prices',
    summary: 'Set the price of a SKU from now, or from a later time',
    description:
      'A launch is charged the price that is current when it is accepted, until its release; a running allocation keeps its price.',
    permission: 'admin.price.update',
    audit: 'price.create',
    freshSignIn: true,
    body: PriceSpec,
    status: 201,
    response: Price,
    errors: ['conflict'],
  },
  adminPriceCancel: {
    ...operatorChanges(tag),
    path: '/api/v1/admin/prices/{price_id}/cancel',
    summary: 'Cancel a price that is not in effect yet',
    permission: 'admin.price.update',
    audit: 'price.cancel',
    freshSignIn: true,
    params: Closed({ price_id: Id('price') }),
    body: Closed({ reason: Reason }),
    status: 200,
    response: Price,
    errors: ['conflict'],
  },
});
