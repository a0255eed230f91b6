-- What discovery found decides which GPU model a node can be sold as.
alter table nodes
  -- Of the newest discovery: [{vendor_device, driver_name, gpu_count}], one entry per kind of GPU.
  add column gpus_found jsonb not null default '[]',
  -- Why these are not the model of the node, as a sentence; null where they are. Nothing is placed on it meanwhile.
  add column gpu_model_conflict text;

alter table sku_catalog
  -- PCI IDs (vendor:device) that the site names as this GPU model, beside those that the product knows.
  add column gpu_ids text[] not null default '{}';
