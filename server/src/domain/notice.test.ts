import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GENERAL_NOTICE, messageNamingHost, noticeChange, noticesOf } from './notice.ts';

const AT = '2026-11-15T10:00:00.000Z';
const LATER = '2026-11-15T11:00:00.000Z';
const fact = (message: string, since = AT, hidden: string[] = ['j22u15', '0000:9b:00.0']) => ({
  message,
  since,
  hidden,
});

test('one text is one notice with its earliest time, oldest first', () => {
  const facts = [fact('Slow.', LATER), fact('Hot.', LATER), fact('Hot.'), fact('Broken.', LATER), fact('Hot.', LATER)];
  assert.deepEqual(noticesOf(facts), [
    { message: 'Hot.', since: AT },
    { message: 'Broken.', since: LATER },
    { message: 'Slow.', since: LATER },
  ]);
});

test('a text that names a host, a device or an address is replaced', () => {
  for (const text of [
    'J22U15 is slow.',
    'GPU 9b:00.0 is slow.',
    'GPU-1f0c2d3e-aaaa is slow.',
    'See 10.1.2.3 for the cause.',
    'Port 0c:42:a1:00:00:01 is down.',
    '\u202e\u0007 ',
    'j22\u200bu15 is slow.',
    '\uff4a\uff12\uff12\uff55\uff11\uff15 is slow.',
    'See 10\uff0e1\uff0e2\uff0e3 for the cause.',
    'GPU 9b:\u00ad00.0 is slow.',
  ])
    assert.deepEqual(
      noticesOf([fact(text)]).map(({ message }) => message),
      [GENERAL_NOTICE],
      text,
    );
  assert.deepEqual(
    noticesOf([fact('Every node is fine.', AT, ['node', ''])]).map(({ message }) => message),
    ['Every node is fine.'],
  );
});

test('characters without a shape become spaces', () => {
  assert.deepEqual(
    noticesOf([fact(' A\u001b[31m GPU\r\n\u202eis hot. ')]).map(({ message }) => message),
    ['A [31m GPU is hot.'],
  );
});

test("an operator's text is checked against the node and the target of its alert", () => {
  const alert = (tenant_message: string | null, target = 'node') => ({ target, tenant_message });
  assert.equal(messageNamingHost([alert(null), alert('Repairs begin at 18:00.')], ['j22u15']), null);
  assert.equal(messageNamingHost([alert('Disk S795 fails.', 'S795')], ['j22u15']), 'Disk S795 fails.');
  assert.equal(messageNamingHost([alert('j22u15 restarts.')], ['j22u15']), 'j22u15 restarts.');
  for (const text of [
    'Ping fd00:12::7.',
    'At 2001:db8:0:0:0:0:2:1.',
    'From ::1',
    'Disk /dev/sda fails.',
    'nvme3n1 is slow.',
  ])
    assert.equal(messageNamingHost([alert(text)], []), text);
  for (const text of [
    'From 18:00:00 to 19:30:00.',
    'The ratio is 4:2:1.',
    'Note: save your work.',
    'std::vector fails.',
  ])
    assert.equal(messageNamingHost([alert(text)], []), null, text);
});

test('a change names the texts that began and ended', () => {
  const [hot, slow] = [
    { message: 'Hot.', since: AT },
    { message: 'Slow.', since: AT },
  ];
  assert.deepEqual(noticeChange([hot], [slow]), { began: ['Slow.'], ended: ['Hot.'] });
  assert.equal(noticeChange([hot], [{ ...hot, since: LATER }]), null);
});
