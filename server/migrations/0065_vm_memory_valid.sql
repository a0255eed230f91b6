-- no transaction
alter table sku_vm_profiles validate constraint hugepages_is_known;
alter table sku_vm_profiles validate constraint numa_policy_is_known;
alter table allocation_placements validate constraint placed_hugepages_are_known;
alter table allocation_placements validate constraint placed_numa_policy_is_known;
