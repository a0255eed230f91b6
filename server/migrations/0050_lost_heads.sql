-- Signed heads outside the database that cover more than it holds: changes that a failover or a restore lost.
alter table audit_sealer
  add column lost_rows bigint not null default 0,
  add column lost_line bigint not null default 0,
  add column lost_at timestamptz;
