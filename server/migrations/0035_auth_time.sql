-- When the user signed in at the issuer, from the ID token; null where the issuer did not state it. Operations that need
-- a fresh sign-in compare it with the clock.
alter table web_sessions add column auth_time timestamptz;
