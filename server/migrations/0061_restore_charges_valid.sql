-- no transaction
alter table allocations validate constraint charge_ends_while_active;
