/** What the site sells and where: regions, SKUs with their VM profiles and prices, images and pools. */
import { Tabs } from '@mantine/core';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { ResourceSection } from '../../resource/resource-section.tsx';
import { Page } from '../../ui/page.tsx';
import { TabList } from '../../ui/tab-list.tsx';
import { CatalogFile } from './catalog-file.tsx';
import { IMAGES } from './declared/images.tsx';
import { POOLS } from './declared/pools.tsx';
import { REGIONS } from './declared/regions.tsx';
import { SKUS } from './declared/skus.tsx';
import { ImageDetail } from './image-detail.tsx';
import './site.css';
import { SkuDetail } from './sku-detail.tsx';

const TABS = [
  ['regions', 'Regions'],
  ['skus', 'SKUs'],
  ['images', 'Images'],
  ['pools', 'Pools'],
] as const;

export const CatalogPage = () => {
  const { tab: asked, sku, image } = useSearch({ from: '/console/site/catalog' });
  const navigate = useNavigate();
  const tab = TABS.find(([value]) => value === asked)?.[0] ?? 'regions';
  return (
    <Page
      title="Catalog"
      subtitle="What tenants can launch, where, and at which price. Something retired can be brought back."
    >
      <Tabs
        value={tab}
        keepMounted={false}
        onChange={(value) =>
          void navigate({ to: '/site/catalog', search: value === null ? {} : { tab: value }, replace: true })
        }
      >
        <TabList current={tab} tabs={TABS} />
        <Tabs.Panel value="regions">
          <ResourceSection resource={REGIONS} />
        </Tabs.Panel>
        <Tabs.Panel value="skus">
          {sku === undefined ? <ResourceSection resource={SKUS} /> : <SkuDetail name={sku} />}
        </Tabs.Panel>
        <Tabs.Panel value="images">
          {image === undefined ? (
            <ResourceSection resource={IMAGES} top={(fill) => <CatalogFile onFill={fill} />} />
          ) : (
            <ImageDetail name={image} />
          )}
        </Tabs.Panel>
        <Tabs.Panel value="pools">
          <ResourceSection resource={POOLS} />
        </Tabs.Panel>
      </Tabs>
    </Page>
  );
};
