/**
 * Import this first in a file that tests what follows commit order. The oldest running transaction bounds it, and
 * PostgreSQL counts those of every database in the cluster: beside other files, theirs would hold it back.
 */
delete process.env['GPUAAS_TEST_POSTGRES_URL'];
