-- The same hash from one expression: a call of netstring() for each field was most of its time, and the invariants compute it for
-- every proof of the last hour each minute.
create or replace function wipe_proof_hash(p wipe_proofs) returns bytea language sql stable parallel safe
  return sha256(convert_to(concat(
    '64:', encode(p.previous_hash, 'hex'),
    ',', octet_length(p.sequence::text), ':', p.sequence,
    ',', octet_length(p.id), ':', p.id,
    ',', octet_length(p.node_id), ':', p.node_id,
    ',', coalesce(octet_length(p.slot_id) || ':' || p.slot_id, '-'),
    ',', coalesce(octet_length(p.allocation_id) || ':' || p.allocation_id, '-'),
    ',', octet_length(p.task_id), ':', p.task_id,
    ',', octet_length(p.method), ':', p.method,
    ',', case when p.is_verified then '4:true' else '5:false' end,
    ',', octet_length(p.evidence::text), ':', p.evidence,
    ',', coalesce(octet_length(p.disk_serial) || ':' || p.disk_serial, '-'),
    ',', octet_length(p.correlation_id), ':', p.correlation_id,
    ',27:', to_char(p.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), ','), 'UTF8'));

drop function netstring(text);
