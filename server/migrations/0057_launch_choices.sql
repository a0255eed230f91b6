-- What a launch chose for its data disks and its network.
alter table allocations
  add column storage text not null default 'raw',
  -- Null for bare metal, and for slices of a release that had no choice: those got private_nat.
  add column network text;
alter table allocations add constraint allocations_storage_check check (storage in ('raw', 'formatted')) not valid;
-- The first disk of a slice is its boot disk, so one GPU has no data disk.
alter table allocations add constraint formatted_has_data_disks
  check (storage = 'raw' or (capacity_shape = 'gpu_slice' and gpu_count > 1)) not valid;
alter table allocations add constraint allocations_network_check check (network in ('private_nat')) not valid;
alter table allocations add constraint network_of_slice check (network is null or capacity_shape = 'gpu_slice') not valid;
