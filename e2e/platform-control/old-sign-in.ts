/**
 * Makes every sign-in of a running lab an hour older, as time would: the sessions of browsers, the sessions of the
 * embedded issuer, and the refresh tokens of the CLI, whose next access token states the old sign-in.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from 'pg';
import { SEALED_TO } from '../../server/src/domain/sealed.ts';
import { createSecrets } from '../../server/src/ports/secrets/secrets.ts';
import type { LabUnderTest } from './lab.ts';

/** More than GPUAAS_FRESH_SIGN_IN_MAX_AGE_S of the lab, less than a session lives. */
const OLDER_S = 3_600;
/** Where oidc-provider keeps the time of the sign-in. */
const SIGNED_IN_AT = { Session: 'loginTs', RefreshToken: 'authTime' } as const;
type Model = keyof typeof SIGNED_IN_AT;

/** The database of the lab, by the socket that its lock file names. */
const connect = async ({ stateDir }: LabUnderTest): Promise<Client> => {
  const [, , , port = '', host = ''] = readFileSync(join(stateDir, 'postgres/data/postmaster.pid'), 'utf8').split('\n');
  const client = new Client({ host, port: Number(port), user: 'gpuaas', database: 'gpuaas' });
  await client.connect();
  return client;
};

const ageRecords = async (sql: Client, stateDir: string): Promise<void> => {
  const key = Buffer.from(readFileSync(join(stateDir, 'platform.key'), 'utf8').trim(), 'base64');
  const secrets = createSecrets({ kind: 'platform', keys: new Map([[1, key]]), active: () => 1 });
  const { rows } = await sql.query<{ model: Model; id_hash: Buffer; sealed_payload: Buffer }>(
    'select model, id_hash, sealed_payload from oidc_records where model = any($1)',
    [Object.keys(SIGNED_IN_AT)],
  );
  for (const { model, id_hash, sealed_payload } of rows) {
    const place = SEALED_TO.oidc_record(model, id_hash);
    const record = JSON.parse(secrets.open(sealed_payload, place)) as Record<string, unknown>;
    const signedInAt = record[SIGNED_IN_AT[model]];
    // A session of the issuer before its sign-in has no time.
    if (typeof signedInAt !== 'number') continue;
    const older = { ...record, [SIGNED_IN_AT[model]]: signedInAt - OLDER_S };
    await sql.query('update oidc_records set sealed_payload = $3 where model = $1 and id_hash = $2', [
      model,
      id_hash,
      secrets.seal(JSON.stringify(older), place),
    ]);
  }
};

export const ageSignIns = async (lab: LabUnderTest): Promise<void> => {
  const sql = await connect(lab);
  try {
    await sql.query("update web_sessions set auth_time = auth_time - $1 * interval '1 second'", [OLDER_S]);
    const without = await sql.query('select from web_sessions where auth_time is null');
    assert.equal(without.rowCount, 0, 'every session of a browser states its sign-in');
    await ageRecords(sql, lab.stateDir);
  } finally {
    await sql.end();
  }
};
