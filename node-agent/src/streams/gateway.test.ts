import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { mintId } from '@gpuaas/kit';
import { createAuthority } from '../../test/platform.ts';
import { startStreamGateway } from '../../test/stream-gateway.ts';
import { HostError } from '../host/host.ts';
import { createOpenGateway } from './gateway.ts';

const refuses = (act: Promise<unknown>, code: string, pattern: RegExp) =>
  assert.rejects(act, (err) => err instanceof HostError && err.code === code && pattern.test(err.message));
const soon = () => AbortSignal.timeout(60_000);

describe('the connection to a gateway', () => {
  it('is made only to one with a trusted certificate and that name', async (t) => {
    const gateway = await startStreamGateway();
    const named = await startStreamGateway({ name: 'gateway.example' });
    t.after(gateway.close);
    t.after(named.close);
    const id = mintId('terminal_session');
    const stranger = await createAuthority('another user');
    const open = createOpenGateway(await gateway.connection(stranger), 'test');
    await refuses(open(gateway.url, id, soon()), 'host_error', /could not be reached/);
    const misnamed = createOpenGateway(await named.connection(), 'test');
    await refuses(misnamed(named.url, id, soon()), 'host_error', /could not be reached: .*altnames/);
    const unknown = createOpenGateway(await gateway.connection(gateway.authority, stranger), 'test');
    await refuses(unknown(gateway.url, id, soon()), 'host_error', /could not be reached/);
  });

  it('ends with a clear error if the session is gone, nothing listens, or the caller aborted', async (t) => {
    const gateway = await startStreamGateway();
    const open = createOpenGateway(await gateway.connection(), 'test');
    const id = mintId('terminal_session');
    await refuses(open(gateway.url, id, soon()), 'conflict', /does not wait for this session/);
    await refuses(open(gateway.url, id, AbortSignal.abort()), 'timeout', /in time/);
    await gateway.close();
    await refuses(open(gateway.url, id, soon()), 'host_error', /could not be reached/);
    void t;
  });
});
