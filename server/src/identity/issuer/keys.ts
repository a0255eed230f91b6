/**
 * Signing keys of the embedded issuer. They are created once and sealed in the database, so that restarts and replicas
 * share them. A retired key no longer signs: the next start creates another, and the old one stays published for as
 * long as a token it signed may live.
 */
import { calculateJwkThumbprint, exportJWK, generateKeyPair, type JWK } from 'jose';
import { type Database, PLATFORM, type Tx } from '../../db/client.ts';
import { deleteRetiredOidcSigningKeys, insertOidcSigningKey, listOidcSigningKeys } from '../../db/oidc.ts';
import { SEALED_TO } from '../../domain/sealed.ts';
import { type Secrets, sealedWithAnotherKey } from '../../ports/secrets/secrets.ts';

const ALGORITHM = 'RS256';
const RETIRED_KEPT_S = 30 * 24 * 3600;

const generate = async (secrets: Secrets) => {
  const { privateKey } = await generateKeyPair(ALGORITHM, { modulusLength: 2048, extractable: true });
  const jwk = await exportJWK(privateKey);
  const kid = await calculateJwkThumbprint(jwk);
  const full: JWK = { ...jwk, kid, alg: ALGORITHM, use: 'sig' };
  return { kid, algorithm: ALGORITHM, sealed_jwk: secrets.seal(JSON.stringify(full), SEALED_TO.oidc_signing_key(kid)) };
};

const open = (secrets: Secrets, row: Readonly<{ kid: string; sealed_jwk: Buffer }>): JWK => {
  try {
    return JSON.parse(secrets.open(row.sealed_jwk, SEALED_TO.oidc_signing_key(row.kid))) as JWK;
  } catch (err) {
    throw sealedWithAnotherKey('signing keys', 'platform', err);
  }
};

const list = async (tx: Tx, secrets: Secrets): Promise<Readonly<{ keys: JWK[]; has_active: boolean }>> => {
  const rows = await listOidcSigningKeys(tx);
  return { keys: rows.map((row) => open(secrets, row)), has_active: rows[0]?.retired_at === null };
};

/** Private keys, the signing one first; created on the first start, and when the last one was retired. */
export const loadSigningKeys = async (database: Database, secrets: Secrets): Promise<JWK[]> => {
  const known = await database.write(PLATFORM, async (tx) => {
    await deleteRetiredOidcSigningKeys(tx, RETIRED_KEPT_S);
    return list(tx, secrets);
  });
  if (known.has_active) return known.keys;
  const fresh = await generate(secrets);
  await database.write(PLATFORM, (tx) => insertOidcSigningKey(tx, fresh));
  // Read back in a new transaction: another replica may have been first.
  return (await database.write(PLATFORM, (tx) => list(tx, secrets))).keys;
};

/** The public part of a private key. */
export const publicPart = ({ kty, n, e, kid, alg, use }: JWK): JWK => ({
  ...(kty === undefined ? {} : { kty }),
  ...(n === undefined ? {} : { n }),
  ...(e === undefined ? {} : { e }),
  ...(kid === undefined ? {} : { kid }),
  ...(alg === undefined ? {} : { alg }),
  ...(use === undefined ? {} : { use }),
});
