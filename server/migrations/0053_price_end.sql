-- Prices and VM profiles end with the SKU that they are for: one that comes back has none until an operator decides.
-- blocks sku_prices: a few rows per SKU
-- blocks sku_vm_profiles: a few rows per SKU
-- When its SKU was retired.
alter table sku_prices add column ended_at timestamptz;
update sku_prices p set ended_at = s.retired_at from sku_catalog s
  where s.name = p.sku_name and s.retired_at is not null and p.cancelled_at is null;
update sku_vm_profiles f set retired_at = s.retired_at, version = f.version + 1 from sku_catalog s
  where s.name = f.sku_name and s.retired_at is not null and f.retired_at is null;
grant update (ended_at) on sku_prices to gpuaas_app;
