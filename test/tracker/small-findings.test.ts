import { createHmac } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { isSignedBy, makeReplayMarker } from '../../src/tracker/webhooks.ts';
import { labelsInMemory, trackerInMemory } from '../support/in-memory.ts';
import { naming } from '../support/facts.ts';

describe('webhook deliveries', () => {
  test('are signed by hexadecimal digits of any case', () => {
    const body = Buffer.from('{"id":1}');
    const hex = createHmac('sha256', 'secret').update(body).digest('hex');
    expect(
      [hex, hex.toUpperCase(), `${hex}0`, '', undefined].map((one) => isSignedBy('secret', body, one)),
    ).toEqual([...[true, true, false, false, false]]);
  });
  test('are marked when they arrive again', () => {
    const mark = makeReplayMarker(2);
    const marks = [1, 2, 1, 3, 2, 1].map((id) => mark({ id }).replayed === true);
    expect(marks).toEqual([false, false, true, false, true, false]);
    expect([mark({ a: 1 }).replayed, mark({ a: 1 }).replayed]).toEqual([undefined, true]);
  });
});

describe('an archived label', () => {
  const archive = (at: ReturnType<typeof trackerInMemory>): void => {
    const { id } = at.send('POST', '/labels', { name: 'old' });
    at.send('PUT', `/labels/${id}`, { archived: true });
  };
  test.each([[[]], [['--create-labels']]])('is named when bulk attaches it (%j)', async (more) => {
    const at = trackerInMemory({
      'rows.ndjson':
        '{"op":"create","resource":"epics","name":"e","labels":["old"]}\n{"op":"create","resource":"epics","name":"f","labels":["old"]}\n',
    });
    archive(at);
    const ran = await at.run(['bulk', '-f', 'rows.ndjson', ...more]);
    expect([ran.code, ran.err.match(/"old" is archived/g)?.length]).toEqual([0, 1]);
  });
  test('is named when a workspace file attaches it, and not when the file restores it', async () => {
    const at = trackerInMemory({ 'w.yaml': 'epics: [{name: e, labels: [old]}]\n' });
    archive(at);
    expect((await at.run(['apply', '-f', 'w.yaml', '--yes'])).err).toContain('"old" is archived');
    await at.write('w.yaml', 'labels: [{name: old, archived: false}]\nepics: [{name: f, labels: [old]}]\n');
    expect((await at.run(['apply', '-f', 'w.yaml', '--yes'])).err).not.toContain('is archived');
  });
});

test('--quiet omits the report of an apply, unless a format is requested', async () => {
  const at = labelsInMemory({ 'labels/a.yaml': 'title: A\n' });
  const quiet = await at.run(['apply', '-f', 'labels', '-q']);
  expect([quiet.code, quiet.out, at.id('A')]).toEqual([0, '', expect.any(String)]);
  expect((await at.run(['apply', '-f', 'labels', '-q', '-o', 'json'])).json()).toHaveLength(1);
});

test('a missing plan file is one line of the error', async () => {
  const at = labelsInMemory();
  const { err } = await at.run(['apply', '--plan', 'missing.json']);
  expect(err.match(/\bexist\b/g)).toHaveLength(1);
  expect(err.split('\n')[0]).toEqual(naming('error:', 'missing.json', 'exist'));
});

test('a deletion by name prints the name and the ID of the deleted record', async () => {
  const at = trackerInMemory({});
  const { id } = at.send('POST', '/labels', { name: '0153' });
  const byName = await at.run(['labels', 'delete', '0153', '--yes']);
  expect([byName.code, byName.err + byName.out]).toEqual([
    0,
    expect.stringContaining(`label "0153" (${id}) deleted`),
  ]);
  const other = at.send('POST', '/labels', { name: 'x' });
  const byId = await at.run(['labels', 'delete', String(other.id), '--yes']);
  expect(byId.err + byId.out).toContain(`label ${other.id} deleted`);
});

test.each(['2026-02-30', '2026-02-30T00:00:00', '2026-02-30T00:00:00Z'])(
  'the error for the day of %s names the day and the text as it was typed',
  async (text) => {
    const at = trackerInMemory({});
    const ran = await at.run(['epics', 'create', '--name', 'x', '--deadline', text]);
    expect([ran.code, ran.err]).toEqual([
      2,
      naming('--deadline', '2026-02-30', `"${text}"`, 'epics', 'invalid', 'arguments'),
    ]);
  },
);
