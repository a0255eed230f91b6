/** Images that the hosts of a region have, for tests that are not about how they got them. */

type Sql = Readonly<{ query(text: string, values?: unknown[]): Promise<Readonly<{ rows: readonly unknown[] }>> }>;

/** Every version in use. */
export const haveImages = async (sql: Sql, regionName: string): Promise<void> => {
  // A test of a migration has the schema of an earlier version.
  const { rows } = await sql.query("select to_regclass('os_image_availability') is null as is_earlier");
  if ((rows[0] as { is_earlier?: boolean } | undefined)?.is_earlier !== false) return;
  await sql.query(
    `insert into os_image_availability (image_name, digest, region_name, available_since)
     select image_name, digest, $1, clock_timestamp() from os_image_versions where retired_at is null on conflict do nothing`,
    [regionName],
  );
};
