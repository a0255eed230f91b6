-- No node was ever quarantined or being removed: slots are quarantined, and a node is deleted at once.
alter table nodes drop constraint nodes_state_check;
alter table nodes add constraint nodes_state_check
  check (state in ('bootstrap_issued', 'enrolling', 'active', 'offline', 'draining', 'retired', 'deleted'));
