import { command, type Group, integer, required, text } from '../command.ts';
import { futurePriceId } from '../find.ts';
import { collect, keyFlags, pageFlags, yesFlags } from '../flags.ts';
import { shortTime } from '../table.ts';
import { reason } from './admin-catalog.ts';
import { priceOf } from './catalog.ts';

export const adminPrice: Group = {
  name: 'price',
  summary: 'Set prices of SKUs, from now or from a later time',
  commands: [
    command({
      name: 'list',
      summary: 'List prices with history and future, newest first',
      flags: { ...pageFlags, sku: text('Only prices of this SKU', 'name') },
      run: async (cli, { flags }) => {
        const client = await cli.client();
        const read = (query: { limit: number; cursor: string | undefined }) =>
          client.adminPriceList({ query: { ...query, sku_name: flags.sku } }, { signal: cli.signal });
        cli.out.list(await collect(flags, read), [
          { header: 'SKU', value: ({ sku_name }) => sku_name, shrink: 'cut' },
          { header: 'PER GPU HOUR', value: ({ gpu_hourly_price }) => priceOf(gpu_hourly_price), align: 'right' },
          { header: 'FROM', value: ({ valid_from }) => shortTime(valid_from) },
          { header: 'STATE', value: ({ state }) => state },
          { header: 'ID', value: ({ id }) => id, optional: true },
          { header: 'UNTIL', value: ({ valid_until }) => shortTime(valid_until), optional: true },
        ]);
      },
    }),
    command({
      name: 'get',
      summary: 'Show a price, also a past or cancelled one',
      args: { price: 'ID' },
      run: async (cli, { args }) => {
        const params = { price_id: args.price };
        const found = await (await cli.client()).adminPriceGet({ params }, { signal: cli.signal });
        const { gpu_hourly_price, ...rest } = found;
        cli.out.item(found, { ...rest, 'price per gpu hour': priceOf(gpu_hourly_price) });
      },
    }),
    command({
      name: 'create',
      summary: 'Set the price of a SKU; running allocations keep theirs',
      args: { sku: 'Name of the SKU' },
      flags: {
        'gpu-hourly-price-minor': required(integer('Price per GPU hour in minor units, such as cents')),
        currency: required(text('Currency, such as USD', 'code')),
        'valid-from': text('When it takes effect, such as 2027-01-01T00:00:00Z (default: now)', 'time'),
        ...keyFlags,
      },
      examples: ['gpuaas admin price create h200 --gpu-hourly-price-minor 399 --currency USD'],
      run: async (cli, { args, flags }) => {
        const body = {
          sku_name: args.sku,
          gpu_hourly_price_minor: flags.gpuHourlyPriceMinor,
          currency: flags.currency,
          valid_from: flags.validFrom,
        };
        const options = { idempotencyKey: flags.idempotencyKey, signal: cli.signal };
        const response = await (await cli.client()).call('adminPriceCreate', { body }, options);
        const { id, sku_name, gpu_hourly_price, state, valid_from } = response.data;
        const from = state === 'future' ? `from ${shortTime(valid_from)}` : 'from now';
        cli.out.done(`${sku_name} costs ${priceOf(gpu_hourly_price)} per GPU hour ${from} (${id}).`, response);
      },
    }),
    command({
      name: 'cancel',
      summary: 'Cancel a price that is not in effect yet',
      args: { price: 'ID, or the SKU where it has one future price' },
      flags: { reason, ...yesFlags, ...keyFlags },
      run: async (cli, { args, flags }) => {
        const price_id = await futurePriceId(cli, args.price);
        await cli.confirm(`Cancel price ${price_id}? It does not take effect then.`, flags.yes);
        const request = { params: { price_id }, body: { reason: flags.reason } };
        const options = { idempotencyKey: flags.idempotencyKey, signal: cli.signal };
        const response = await (await cli.client()).call('adminPriceCancel', request, options);
        const { id, sku_name, valid_from } = response.data;
        cli.out.done(`The price of ${sku_name} from ${shortTime(valid_from)} (${id}) is cancelled.`, response);
      },
    }),
  ],
};
