-- What can be had: regions, SKUs with prices and VM profiles, operating system images by digest.

create table regions (
  name text primary key check (name ~ '^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$'),
  display_name text not null,
  enabled boolean not null default false,
  disabled_reason text,
  version integer not null default 1,
  check (enabled = (disabled_reason is null))
);

create table sku_catalog (
  name text primary key check (name ~ '^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$'),
  display_name text not null,
  vendor text not null,
  gpu_model text not null,
  capacity_shape text not null check (capacity_shape in ('baremetal', 'gpu_slice')),
  gpus_per_node integer not null check (gpus_per_node between 1 and 64),
  allowed_gpu_counts integer[] not null check (cardinality(allowed_gpu_counts) > 0),
  gpu_hourly_price_minor bigint not null check (gpu_hourly_price_minor >= 0),
  currency text not null check (currency ~ '^[A-Z]{3}$'),
  enabled boolean not null default true,
  disabled_reason text,
  version integer not null default 1,
  check (enabled = (disabled_reason is null)),
  check (capacity_shape <> 'baremetal' or allowed_gpu_counts = array[gpus_per_node])
);

create table sku_vm_profiles (
  name text primary key check (name ~ '^[a-z0-9_]{1,64}$'),
  sku_name text not null references sku_catalog,
  gpu_count integer not null check (gpu_count > 0),
  vcpu_count integer not null check (vcpu_count > 0),
  memory_mib integer not null check (memory_mib > 0),
  is_default boolean not null default false
);
create unique index sku_vm_profiles_default on sku_vm_profiles (sku_name, gpu_count) where is_default;

create table os_images (
  name text primary key check (name ~ '^[A-Za-z0-9][A-Za-z0-9.-]{0,62}$'),
  display_name text not null,
  os_family text not null,
  os_version text not null
);
-- Two names that people take for one are one.
create unique index os_images_any_case on os_images (lower(name));

-- What an image is, by digest: where it came from, who vouches for it, and what must hold in a guest made of it. The newest
-- that is not retired is what a launch gets. A version is never changed but for being retired, and never comes back.
create table os_image_versions (
  image_name text not null references os_images,
  digest text not null check (digest ~ '^sha256:[0-9a-f]{64}$'),
  format text not null check (format in ('raw', 'qcow2')),
  size_bytes bigint not null check (size_bytes > 0),
  driver_strategy text not null check (driver_strategy in ('preinstalled', 'cloud_init', 'none')),
  readiness_checks text[] not null default '{}',
  source text not null check (source <> ''),
  digest_authority text not null check (digest_authority <> ''),
  registered_at timestamptz not null default clock_timestamp(),
  retired_at timestamptz,
  retired_reason text,
  primary key (image_name, digest),
  check ((retired_at is null) = (retired_reason is null))
);
create index os_image_versions_live on os_image_versions (image_name, registered_at) where retired_at is null;

create table os_image_skus (
  image_name text not null references os_images,
  sku_name text not null references sku_catalog,
  primary key (image_name, sku_name)
);

-- The catalog is the same for every tenant: no row-level security.
grant select on regions, sku_catalog, sku_vm_profiles, os_images, os_image_versions, os_image_skus to gpuaas_app;
grant insert, update on regions, sku_catalog to gpuaas_app;
grant insert on sku_vm_profiles, os_image_versions, os_image_skus to gpuaas_app;
grant insert, update on os_images to gpuaas_app;
grant update (retired_at, retired_reason) on os_image_versions to gpuaas_app;
grant delete on os_image_skus to gpuaas_app;
