-- An organization may forbid access that is not recorded: only recorded terminals open.
alter table access_policies add column requires_recording boolean not null default false;
