import type { AdminSku, Price } from '@gpuaas/sdk';
import { money } from '../../../format/money.ts';
import { exact } from '../../../format/time.ts';
import { fieldsOf, sends, type Values } from '../../../resource/form.ts';
import { adminPriceCancel, adminPriceCreate } from '../../../resource/inputs.gen.ts';
import type { Resource } from '../../../resource/resource-section.tsx';
import { StateBadge } from '../../../ui/state-badge.tsx';
import { Ago, Exact, Until } from '../../../ui/time.tsx';
import { REASON } from './shared-fields.ts';

const CURRENCY = /^[A-Z]{3}$/;

/** The typed amount as tenants will read it. */
const inMoney = ({ gpu_hourly_price_minor, currency }: Values): string => {
  const amount = Number(gpu_hourly_price_minor);
  const rule = 'In minor units of the currency: 450 is 4.50 in USD.';
  return gpu_hourly_price_minor !== '' && Number.isSafeInteger(amount) && CURRENCY.test(String(currency))
    ? `${rule} Tenants read ${money({ amount_minor: amount, currency: String(currency) })} per GPU hour.`
    : rule;
};

const From = ({ price }: Readonly<{ price: Price }>) => (
  <>
    <span className="nowrap">
      <Exact at={price.valid_from} />
    </span>
    <div className="muted">
      {Date.parse(price.valid_from) > Date.now() ? <Until at={price.valid_from} /> : <Ago at={price.valid_from} />}
    </div>
  </>
);

export const pricesOf = (sku: AdminSku): Resource<Price> => ({
  title: 'Prices',
  empty: { title: 'No price', text: 'A SKU without a price cannot be launched.' },
  list: { operation: 'adminPriceList', query: { sku_name: sku.name } },
  keyOf: ({ id }) => id,
  nameOf: ({ valid_from }) => `price from ${exact(valid_from)}`,
  columns: [
    {
      header: 'Per GPU hour',
      cell: ({ gpu_hourly_price }) => (
        <span className="nowrap">
          {money(gpu_hourly_price)} <span className="muted">{gpu_hourly_price.currency}</span>
        </span>
      ),
    },
    { header: 'State', cell: ({ state }) => <StateBadge kind="price" state={state} /> },
    { header: 'From', cell: (price) => <From price={price} /> },
    {
      header: 'Until',
      cell: ({ valid_until, cancelled_at }) =>
        cancelled_at !== null ? (
          <span className="muted">
            cancelled <Ago at={cancelled_at} />
          </span>
        ) : valid_until === null ? (
          '–'
        ) : (
          <Exact at={valid_until} />
        ),
      isSecondary: true,
    },
  ],
  create: {
    label: 'New price',
    submit: 'Set price',
    title: `New price of ${sku.name}`,
    permission: 'admin.price.update',
    note: () =>
      'A launch is charged the price that is current when it is accepted, until its release. Running allocations keep their price.',
    fields: fieldsOf(adminPriceCreate, {
      sku_name: null,
      gpu_hourly_price_minor: { label: 'Price per GPU hour', description: inMoney },
      currency: {
        label: 'Currency',
        isShort: true,
        rule: 'The currency is a code of three capital letters, such as USD.',
        initial: sku.gpu_hourly_price?.currency ?? 'USD',
      },
      valid_from: { label: 'Takes effect, in UTC', description: 'Now if empty.', isShort: true },
    }),
    send: sends('adminPriceCreate', (body) => ({ body: { ...body, sku_name: sku.name } })),
    words: () => ['admin', 'price', 'create', sku.name],
  },
  changes: [
    {
      label: 'Cancel',
      submit: 'Cancel price',
      title: ({ valid_from }) => `Cancel the price from ${exact(valid_from)}`,
      permission: 'admin.price.update',
      isDestructive: true,
      refusal: ({ state }) => (state === 'future' ? null : 'Only a price that is not in effect yet can be cancelled.'),
      note: ({ gpu_hourly_price }) => `${money(gpu_hourly_price)} never takes effect. The price before it stays.`,
      fields: fieldsOf(adminPriceCancel, { reason: REASON }),
      send: sends('adminPriceCancel', (body, { id }: Price) => ({ params: { price_id: id }, body })),
      words: ({ id }) => ['admin', 'price', 'cancel', id],
    },
  ],
});
