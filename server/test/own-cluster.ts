/**
 * Import this first in a file that tests commit order. The oldest running transaction bounds it, and PostgreSQL counts
 * those of every database in the cluster: transactions of other files would hold it back. The runner has a second
 * cluster for such files and runs one of them at a time; alone, the file starts its own.
 */
const ordered = process.env['GPUAAS_TEST_ORDERED_POSTGRES_URL'];
if (ordered) process.env['GPUAAS_TEST_POSTGRES_URL'] = ordered;
else delete process.env['GPUAAS_TEST_POSTGRES_URL'];
