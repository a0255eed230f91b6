import assert from 'node:assert/strict';
import { it } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { joinedGateway } from '../../test/gateway.ts';
import { appSecrets } from '../../test/secrets.ts';
import { until } from '../../test/until.ts';
import { SEALED_TO } from '../domain/sealed.ts';

it('a recorded terminal is stored as shown, without typed input, and ends when it cannot be recorded', async (t) => {
  const closers: (() => Promise<void>)[] = [];
  t.after(async () => {
    for (const close of closers) await close();
  });
  const at = await joinedGateway({ after: (fn) => void closers.unshift(fn) });
  const stage = await at.stage();
  await at.channel.change('insert into access_policies (organization_id, recording_days) values ($1, 3)', [
    stage.user.organization_id,
  ]);
  const { session_id, client, host } = await stage.session({ is_recorded: true });
  const [session] = client.words;
  assert.deepEqual([session.is_recorded, typeof session.notice], [true, 'string']);
  const read = async (): Promise<unknown[]> => {
    const parts = await at.channel.rows<{ part: number; sealed_content: Buffer }>(
      'select part, sealed_content from terminal_recordings where session_id = $1 order by part',
      [session_id],
    );
    const text = parts
      .map(({ part, sealed_content }) => appSecrets.openBytes(sealed_content, SEALED_TO.recording(session_id, part)))
      .map((content) => gunzipSync(content).toString())
      .join('');
    return text.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line)]));
  };

  const euro = Buffer.from('€');
  host.socket.send(Buffer.concat([Buffer.from('price: '), euro.subarray(0, 2)]));
  host.socket.send(Buffer.concat([euro.subarray(2), Buffer.from('\r\n')]));
  client.socket.send(Buffer.from('secret typed'));
  client.say({ type: 'resize', cols: 100, rows: 30 });
  await host.word('resize');
  // Parts are written during the session: a gateway that crashes loses only the last moments.
  await until('a first part is kept', async () => (await read()).length >= 4);
  host.socket.send(Buffer.from('last'));
  host.socket.close(1000);
  await client.closed();
  await until('it is over', async () => (await stage.row(session_id)).state === 'closed');
  await until('the last part is kept', async () => (await read()).length >= 5);
  const [header, ...events] = (await read()) as [Record<string, unknown>, ...[number, string, string][]];
  assert.deepEqual(
    [header['version'], header['width'], header['height'], typeof header['timestamp']],
    [2, 80, 24, 'number'],
  );
  const shown = events.filter(([, kind]) => kind === 'o').map(([, , text]) => text);
  assert.equal(shown.join(''), 'price: €\r\nlast');
  assert.deepEqual(
    events.filter(([, kind]) => kind !== 'o').map(([, kind, text]) => [kind, text]),
    [['r', '100x30']],
  );
  assert.deepEqual(
    events.map(([at]) => at),
    events.map(([at]) => at).toSorted((a, b) => a - b),
  );
  const [kept] = await at.channel.rows<{ days: number }>(
    'select round(extract(epoch from keep_until - created_at) / 86400)::int as days from terminal_recordings where session_id = $1',
    [session_id],
  );
  assert.equal(kept?.days, 3);

  const unkept = await stage.session({ is_recorded: true });
  // The next part already exists, so that the write fails.
  await at.channel.change(
    `insert into terminal_recordings (session_id, part, organization_id, sealed_content, keep_until)
     select $1, n, $2, '\\x0001', clock_timestamp() from generate_series(0, 9) n on conflict do nothing`,
    [unkept.session_id, stage.user.organization_id],
  );
  unkept.host.socket.send(Buffer.from('not to be shown for long'));
  assert.equal(await unkept.client.closed(), 4008);
  assert.match(unkept.client.words.at(-1).message, /recording/);
});
