-- no transaction
alter table allocations validate constraint allocations_storage_check;
alter table allocations validate constraint formatted_has_data_disks;
alter table allocations validate constraint allocations_network_check;
alter table allocations validate constraint network_of_slice;
