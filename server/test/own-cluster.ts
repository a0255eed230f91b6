/**
 * Import this first in a file that expects an event, a seal or a page after one turn. Commit order leaves out transactions of
 * other databases, but one that just begins or ends has no known owner and counts for that moment: those of other files
 * would delay a turn at random. The runner has a second cluster for such files and runs one of them at a time; alone, the
 * file starts its own.
 */
const ordered = process.env['GPUAAS_TEST_ORDERED_POSTGRES_URL'];
if (ordered) process.env['GPUAAS_TEST_POSTGRES_URL'] = ordered;
else delete process.env['GPUAAS_TEST_POSTGRES_URL'];
