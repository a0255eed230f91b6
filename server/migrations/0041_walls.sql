-- Where else a disk was used since its proof: as a data disk of another node, under a claim of that whole node.
create index disk_ownerships_by_serial on disk_ownerships (serial);
create index claims_of_nodes on allocation_resource_claims (node_id, created_at) where claim_kind = 'node_exclusive';

-- Changes of identities since the backup, as the file beside the audit heads has them.
alter table restores add column identity_changes jsonb not null default '[]';
