/** An image: what it promises, who may use it, and its versions. */
import { type AdminOsImage, BOOT_KIND_LABELS, DRIVER_STRATEGY_LABELS } from '@gpuaas/sdk';
import { Stack } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { useMay } from '../../api/me.tsx';
import { useRead } from '../../api/read.ts';
import { bytes } from '../../format/size.ts';
import { type Asked, ResourceDialog } from '../../resource/resource-form.tsx';
import { ResourceChanges } from '../../resource/resource-section.tsx';
import { ActionButton } from '../../ui/action-button.tsx';
import { Async } from '../../ui/async.tsx';
import { Copyable } from '../../ui/copy.tsx';
import { type Column, DataTable } from '../../ui/data-table.tsx';
import { Facts, Section } from '../../ui/page.tsx';
import { ToneBadge } from '../../ui/state-badge.tsx';
import { Ago } from '../../ui/time.tsx';
import { Availability } from './availability.tsx';
import { CatalogFile } from './catalog-file.tsx';
import { IMAGE_REGISTER, IMAGES, versionRetire } from './declared/images.tsx';

type Version = AdminOsImage['versions'][number];
const DIGEST_SHOWN = 19;

const Versions = ({ image }: Readonly<{ image: AdminOsImage }>) => {
  const may = useMay();
  const [asked, setAsked] = useState<Asked<Version> | Asked<null> | null>(null);
  const retire = versionRetire(image);
  const newest = image.versions.find(({ retired_at }) => retired_at === null);
  const refusal = may('admin.image.update');
  const columns: readonly Column<Version>[] = [
    {
      header: 'Digest',
      cell: ({ digest }) => (
        <Copyable text={digest} label="digest">
          {digest.slice(0, DIGEST_SHOWN)}…
        </Copyable>
      ),
    },
    {
      header: 'State',
      cell: ({ digest, retired_at, retired_reason }) =>
        retired_at === null ? (
          <ToneBadge tone={digest === newest?.digest ? 'good' : 'idle'}>
            {digest === newest?.digest ? 'Used by launches' : 'Older'}
          </ToneBadge>
        ) : (
          <>
            <ToneBadge tone="idle">Retired</ToneBadge>
            {retired_reason !== null && <div className="muted site-reason">{retired_reason}</div>}
          </>
        ),
    },
    { header: 'Registered', cell: ({ registered_at }) => <Ago at={registered_at} /> },
    { header: 'Size', align: 'right', cell: ({ size_bytes }) => bytes(size_bytes), isSecondary: true },
    { header: 'Source', cell: ({ source }) => source, isSecondary: true },
    {
      header: 'Actions',
      isHeaderHidden: true,
      align: 'right',
      cell: (version) => (
        <ActionButton
          size="compact-sm"
          variant="default"
          aria-label={`Retire ${version.digest.slice(0, DIGEST_SHOWN)}`}
          disabledReason={refusal ?? retire.refusal?.(version) ?? null}
          onClick={() => setAsked({ form: retire, row: version })}
        >
          Retire
        </ActionButton>
      ),
    },
  ];
  return (
    <Section
      title="Versions"
      flush
      actions={
        <ActionButton
          disabledReason={refusal}
          onClick={() =>
            setAsked({
              form: { ...IMAGE_REGISTER, title: `New version of ${image.name}` },
              row: null,
              // Another file, which no operator has verified yet.
              from: { ...image, digest: undefined, size_bytes: undefined, trust: undefined },
            })
          }
        >
          New version
        </ActionButton>
      }
    >
      <DataTable label="Versions" columns={columns} rows={image.versions} rowKey={({ digest }) => digest} />
      <ResourceDialog
        asked={asked as Asked<Version | null> | null}
        top={asked?.form === retire ? undefined : (fill) => <CatalogFile onFill={fill} />}
        onClose={() => setAsked(null)}
      />
    </Section>
  );
};

const Blockers = ({ image }: Readonly<{ image: AdminOsImage }>) => (
  <ul className="site-blockers">
    {image.default_blockers.map((sentence) => (
      <li key={sentence}>{sentence}</li>
    ))}
  </ul>
);

/** How many hosts can start it, and why others cannot. */
const Hosts = ({ image: { hosts_checked, hosts_unable, unable } }: Readonly<{ image: AdminOsImage }>) => {
  if (hosts_checked === 0) return <span className="muted">No host has reported its boot kinds</span>;
  if (hosts_unable === 0) return <>{`all ${hosts_checked}`}</>;
  return (
    <>
      {`${hosts_checked - hosts_unable} of ${hosts_checked}`}
      <ul className="site-hosts">
        {unable.map(({ node_id, node_name, reason }) => (
          <li key={node_id}>
            {node_name}: {reason}
          </li>
        ))}
      </ul>
    </>
  );
};

const Detail = ({ image }: Readonly<{ image: AdminOsImage }>) => (
  <>
    <Section title={image.name} actions={<ResourceChanges row={image} resource={IMAGES} />}>
      <Facts
        facts={[
          ['State', <Availability key="state" of={image} />],
          ['Display name', image.display_name],
          ['Operating system', `${image.os_family} ${image.os_version}`],
          ['Channel and trust', `${image.channel}, ${image.trust}`],
          ['Default in', image.default_regions.length === 0 ? 'no region' : image.default_regions.join(', ')],
          ...(image.default_blockers.length === 0
            ? []
            : [['Cannot be the default', <Blockers key="blockers" image={image} />] as const]),
          ['SKUs', image.sku_names.join(', ')],
          ['Boot kind', BOOT_KIND_LABELS[image.boot_kind]],
          ['Starts on hosts', <Hosts key="hosts" image={image} />],
          ['GPU driver', DRIVER_STRATEGY_LABELS[image.driver_strategy]],
          ['Readiness checks', image.readiness_checks.length === 0 ? 'none' : image.readiness_checks.join(', ')],
          ['Source', image.source],
          ['Authority for the digest', image.digest_authority],
        ]}
      />
    </Section>
    <Versions image={image} />
  </>
);

export const ImageDetail = ({ name }: Readonly<{ name: string }>) => {
  const image = useRead('adminOsImageGet', { params: { image_name: name } });
  return (
    <Stack gap="md">
      <Link className="link site-back" to="/site/catalog" search={{ tab: 'images' }}>
        All images
      </Link>
      <Async of={image} label="Image" rows={10}>
        {(data) => <Detail image={data} />}
      </Async>
    </Stack>
  );
};
