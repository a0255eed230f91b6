/** The state of the launch page: form text, URL, catalog and estimate. */
import { useDebouncedValue } from '@mantine/hooks';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useEffect, useRef, useState } from 'react';
import { useAll, useRead } from '../../api/read.ts';
import { type LaunchForm, type LaunchSearch, skuOf } from './form.ts';
import type { RequestOf } from './types.ts';

const SETTLE_MS = 200;
/** Capacity changes without an event in this project. */
const AGAIN_MS = 15_000;

/** The same text for the same choices, in any order. */
const textOf = (search: LaunchSearch): string =>
  new URLSearchParams(
    Object.entries(search)
      .flatMap(([name, value]) => (value === undefined || value === '' ? [] : [[name, value]]))
      .sort(([a = ''], [b = '']) => (a < b ? -1 : 1)),
  ).toString();

/**
 * Typed text is shown at once and the URL follows when typing pauses, because a field bound to the URL loses letters. A
 * URL changed by navigation (back, a link) overrides the form.
 */
export const useLaunchSearch = () => {
  const address = useSearch({ strict: false }) as LaunchSearch;
  const navigate = useNavigate();
  const [search, setSearch] = useState<LaunchSearch>(address);
  const addressText = textOf(address);
  const written = useRef(addressText);
  useEffect(() => {
    if (addressText === written.current) return;
    written.current = addressText;
    setSearch(Object.fromEntries(new URLSearchParams(addressText)));
  }, [addressText]);
  useEffect(() => {
    const text = textOf(search);
    if (text === written.current) return;
    const timer = setTimeout(() => {
      written.current = text;
      void navigate({
        to: '.',
        search: Object.fromEntries(new URLSearchParams(text)),
        replace: true,
        resetScroll: false,
      });
    }, SETTLE_MS);
    return () => clearTimeout(timer);
  }, [search, navigate]);
  const update = (patch: LaunchSearch): void => setSearch((before) => ({ ...before, ...patch }));
  return { search, update };
};

export const useCatalog = (search: LaunchSearch, projectId: string) => {
  const skus = useAll('skuList', {});
  const regions = useAll('regionList', {});
  const keys = useAll('sshKeyList', {});
  const capacity = useAll('capacityList', { params: { project_id: projectId } }, { everyMs: AGAIN_MS });
  const sku = skuOf(search, skus.data ?? []);
  const images = useAll(
    'osImageList',
    { query: { sku_name: sku?.name } },
    { enabled: sku !== null, keepPrevious: true },
  );
  const parts = [skus, regions, keys] as const;
  const isReady = skus.data !== undefined && regions.data !== undefined && keys.data !== undefined;
  return {
    isReady,
    error: parts.find(({ error }) => error !== null)?.error ?? images.error,
    refetch: () => {
      for (const part of [...parts, images]) if (part.error !== null) void part.refetch();
    },
    catalog: {
      skus: skus.data ?? [],
      regions: regions.data ?? [],
      keys: keys.data ?? [],
      // The images of the previous SKU are shown for a moment: one that does not run on this SKU cannot be selected.
      images: (images.data ?? []).filter(({ sku_names }) => sku !== null && sku_names.includes(sku.name)),
    },
    isLoadingImages: images.isFetching && (images.data === undefined || images.isPlaceholderData),
    capacity: capacity.data ?? [],
  };
};

type EstimateBody = RequestOf<'allocationEstimate'>['body'];

const estimateBody = ({ sku, region, gpuCount, image }: LaunchForm): EstimateBody | null =>
  sku === null || region === null
    ? null
    : {
        sku_name: sku.name,
        region_name: region.name,
        gpu_count: gpuCount,
        ...(image === null ? {} : { image_name: image.name }),
      };

const NOTHING: EstimateBody = { sku_name: '', region_name: '', gpu_count: 1 };

/** Queried on every change. `isCurrent` is false while the shown response belongs to an older query. */
export const useEstimate = (form: LaunchForm, projectId: string) => {
  const body = estimateBody(form);
  const text = JSON.stringify(body);
  const [settled] = useDebouncedValue(text, SETTLE_MS);
  const asked = JSON.parse(settled) as EstimateBody | null;
  const query = useRead(
    'allocationEstimate',
    { params: { project_id: projectId }, body: asked ?? NOTHING },
    { enabled: asked !== null, keepPrevious: true, everyMs: AGAIN_MS },
  );
  return { ...query, isCurrent: settled === text && query.data !== undefined && !query.isPlaceholderData };
};

export type EstimateQuery = ReturnType<typeof useEstimate>;
