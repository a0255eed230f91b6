-- Proofs of erasure are chained per target, slot or node: whoever holds the target is alone there, so nobody queues for the
-- end of a chain. Hash and place are given here and not by whoever inserts, so no proof is outside its chain.
alter table wipe_proofs
  add column sequence integer,
  add column previous_hash bytea,
  add column proof_hash bytea;

-- A length before each value keeps their borders apart, whatever they hold.
create function netstring(value text) returns text language sql immutable parallel safe
  return coalesce(octet_length(value) || ':' || value, '-') || ',';

-- What the first proof of a target is hashed with, so that two chains never share a hash.
create function wipe_chain_genesis(target text) returns bytea language sql immutable parallel safe
  return sha256(convert_to('gpuaas wipe proof chain ' || target, 'UTF8'));

-- Times to the microsecond and JSON as it is printed: an edit must not hide below what a driver parses.
create function wipe_proof_hash(p wipe_proofs) returns bytea language sql stable parallel safe
  return sha256(convert_to(
    netstring(encode(p.previous_hash, 'hex')) || netstring(p.sequence::text) || netstring(p.id) || netstring(p.node_id)
    || netstring(p.slot_id) || netstring(p.allocation_id) || netstring(p.task_id) || netstring(p.method)
    || netstring(p.is_verified::text) || netstring(p.evidence::text) || netstring(p.disk_serial) || netstring(p.correlation_id)
    || netstring(to_char(p.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')), 'UTF8'));

create function chain_wipe_proof() returns trigger language plpgsql as $$
declare
  target text := coalesce(new.slot_id, new.node_id);
  last_sequence integer;
  last_hash bytea;
begin
  perform pg_advisory_xact_lock(hashtextextended('wipe_proofs ' || target, 0));
  select w.sequence, w.proof_hash into last_sequence, last_hash from wipe_proofs w where w.target_id = target
    order by w.sequence desc limit 1;
  new.sequence := coalesce(last_sequence, 0) + 1;
  new.previous_hash := coalesce(last_hash, wipe_chain_genesis(target));
  new.proof_hash := wipe_proof_hash(new);
  return new;
end $$;

-- Proofs from before there was a chain take their places in the order in which they were made.
alter table wipe_proofs disable trigger append_only;
do $$
declare
  proof wipe_proofs;
  last wipe_proofs;
begin
  for proof in select * from wipe_proofs order by target_id, created_at, id loop
    proof.sequence := case when last.target_id = proof.target_id then last.sequence + 1 else 1 end;
    proof.previous_hash := case when last.target_id = proof.target_id then last.proof_hash else wipe_chain_genesis(proof.target_id) end;
    proof.proof_hash := wipe_proof_hash(proof);
    update wipe_proofs set sequence = proof.sequence, previous_hash = proof.previous_hash, proof_hash = proof.proof_hash
      where id = proof.id;
    last := proof;
  end loop;
end $$;
alter table wipe_proofs enable trigger append_only;

alter table wipe_proofs
  alter column sequence set not null,
  alter column previous_hash set not null,
  alter column proof_hash set not null,
  add constraint proof_has_its_place unique (target_id, sequence),
  add check (sequence > 0 and octet_length(previous_hash) = 32 and octet_length(proof_hash) = 32);
create trigger chained before insert on wipe_proofs for each row execute function chain_wipe_proof();

-- The weakest erasure that a region allows, in the words of NIST SP 800-88.
alter table regions add column wipe_minimum text not null default 'clear' check (wipe_minimum in ('clear', 'purge'));

-- Certificates of erasure are signed by a key of their own.
alter table trust_keys drop constraint trust_keys_purpose_check,
  add constraint trust_keys_purpose_check check (purpose in ('node_ca', 'task_signer', 'certificate_signer'));
