-- A project may record or require recording where its organization does not. It can only add: both levels are combined by "or".
alter table projects
  add column records_terminals boolean not null default false,
  add column requires_recording boolean not null default false;
