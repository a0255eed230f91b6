-- The times of an audit segment decide when its rows may leave the database, so the database sets them: when it was recorded,
-- and the oldest and the newest of its rows. The application, which inserts segments, states neither.
create function stamp_audit_segment() returns trigger
  language plpgsql security definer set search_path = public, pg_temp as $$
begin
  new.created_at := clock_timestamp();
  new.removed_at := null;
  select min(l.created_at), max(l.created_at) into new.first_row_at, new.last_row_at
    from audit_seals s join audit_logs l on l.id = s.audit_log_id
    where s.chain = new.chain and s.sequence between new.first_sequence and new.last_sequence
    having count(*) = new.last_sequence - new.first_sequence + 1;
  if new.last_row_at is null then
    raise exception 'segment % does not follow its chain', new.file_name using errcode = 'check_violation';
  end if;
  return new;
end $$;
create trigger stamped before insert on audit_segments for each row execute function stamp_audit_segment();
revoke insert on audit_segments from gpuaas_app;
grant insert (chain, first_sequence, last_sequence, previous_hash, last_hash, file_name, file_sha256) on audit_segments
  to gpuaas_app;
