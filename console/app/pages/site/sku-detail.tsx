/** A SKU: its facts and what keeps it from being launched, its VM profiles and its prices. */
import type { AdminSku } from '@gpuaas/sdk';
import { Stack } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { useRead } from '../../api/read.ts';
import { money } from '../../format/money.ts';
import { ResourceChanges, ResourceSection } from '../../resource/resource-section.tsx';
import { Async } from '../../ui/async.tsx';
import { Facts, Section } from '../../ui/page.tsx';
import { Availability } from './availability.tsx';
import { pricesOf } from './declared/prices.tsx';
import { SHAPES, SKUS } from './declared/skus.tsx';
import { vmProfilesOf } from './declared/vm-profiles.tsx';

const PARTS: Readonly<Record<AdminSku['required_parts'][number], string>> = {
  gpu: 'GPU',
  nvme: 'NVMe disk',
  mac: 'MAC address',
  private_ip: 'private IP',
  fabric_vf: 'fabric VF',
};

const Detail = ({ sku }: Readonly<{ sku: AdminSku }>) => (
  <>
    <Section title={sku.name} actions={<ResourceChanges row={sku} resource={SKUS} />}>
      <Facts
        facts={[
          ['State', <Availability key="state" of={sku} />],
          ['Display name', sku.display_name],
          ['GPU', `${sku.vendor} ${sku.gpu_model}, ${sku.gpus_per_node} per node`],
          ...(sku.gpu_ids.length === 0 ? [] : [['PCI IDs', sku.gpu_ids.join(', ')] as const]),
          ['Shape', SHAPES[sku.capacity_shape]],
          ['GPU counts', sku.allowed_gpu_counts.join(', ')],
          [
            'Parts per slot',
            sku.required_parts.length === 0 ? 'none' : sku.required_parts.map((part) => PARTS[part]).join(', '),
          ],
          ['Unreleased allocations', String(sku.allocation_count)],
          ['Price', sku.gpu_hourly_price === null ? 'no price' : `${money(sku.gpu_hourly_price)} per GPU hour`],
        ]}
      />
    </Section>
    {sku.capacity_shape === 'gpu_slice' && <ResourceSection resource={vmProfilesOf(sku)} />}
    <ResourceSection resource={pricesOf(sku)} />
  </>
);

export const SkuDetail = ({ name }: Readonly<{ name: string }>) => {
  const sku = useRead('adminSkuGet', { params: { sku_name: name } });
  return (
    <Stack gap="md">
      <Link className="link site-back" to="/site/catalog" search={{ tab: 'skus' }}>
        All SKUs
      </Link>
      <Async of={sku} label="SKU" rows={10}>
        {(data) => <Detail sku={data} />}
      </Async>
    </Stack>
  );
};
