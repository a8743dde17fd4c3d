/** opsctl undo for labels: what it records, restores and marks as undone. */
import { describe, expect, test } from 'vitest';
import {
  type Answered,
  type Asked,
  labelsInMemory,
  type LabelsInMemory,
  workWhileAsking,
} from '../support/in-memory.ts';

const WRITES = '/home/user/opsctl/state/mock/writes';
const textOf = (titles: readonly string[], description: string): string =>
  titles.map((title) => `title: ${title}\ndescription: ${description}\n`).join('---\n');
const undo = (at: LabelsInMemory, words: readonly string[] = ['--yes'], meanwhile?: Meanwhile) =>
  at.run(['undo', ...words], { isTopLevel: true, ...(meanwhile === undefined ? {} : { meanwhile }) });
type Meanwhile = (asked: Asked) => Answered | undefined;
const listed = async (at: LabelsInMemory): Promise<any[]> =>
  JSON.parse((await undo(at, ['--list', '-o', 'json'])).out);
const answer = (status: number): Answered => ({
  status,
  json: { error: { code: status, message: 'on purpose', status: 'ABORTED', details: [] } },
});
let commands = 0;
const apply = async (
  at: LabelsInMemory,
  text: string,
  meanwhile?: Meanwhile,
  flags: readonly string[] = [],
) => {
  await at.write('a.yaml', text);
  commands += 1;
  const later = commands * 1000;
  return at.run(['apply', '-f', 'a.yaml', '--publish', '--yes', ...flags], {
    // Each command starts at its own time, which names its record.
    change: (host) => ({ ...host, now: () => host.now() + later }),
    ...(meanwhile === undefined ? {} : { meanwhile }),
  });
};
const applied = async (titles: readonly string[]): Promise<LabelsInMemory> => {
  const at = labelsInMemory();
  for (const text of ['First', 'Second']) {
    const ran = await apply(at, textOf(titles, text));
    expect([ran.code, ran.code === 0 ? '' : ran.err]).toEqual([0, '']);
  }
  return at;
};
const description = (at: LabelsInMemory, title: string): string => at.label(title).properties.description;
const rejecting =
  (id: string, status = 409): Meanwhile =>
  ({ method, path }) =>
    method === 'POST' && path.includes(id) ? answer(status) : undefined;

test('a label that an undo could not restore stays undoable, and a retry restores only that label', async () => {
  const at = await applied(['A', 'B']);
  const failed = await undo(at, ['--yes'], rejecting(at.id('B'), 400));
  expect([failed.code, description(at, 'A'), description(at, 'B')]).toEqual([9, 'First', 'Second']);
  const again = await undo(at);
  expect([again.code, again.code === 0 ? '' : again.err]).toEqual([0, '']);
  expect([description(at, 'A'), description(at, 'B')]).toEqual(['First', 'First']);
});
test('an undo that restores two labels marks both', async () => {
  const at = await applied(['A', 'B']);
  expect((await undo(at)).code).toBe(0);
  expect((await listed(at))[0]).toMatchObject({ is_undone: true });
});
test('an undo does not replace a definition that another user changed while its question was open', async () => {
  const at = await applied(['A']);
  const edit = () => at.edit('A', { description: 'of another user' });
  const ran = await at.run(['undo', '-o', 'json'], { isTopLevel: true, ...workWhileAsking(edit) });
  expect([ran.code, ran.error().category]).toEqual([10, 'unsafe']);
  expect(description(at, 'A')).toBe('of another user');
});
test('an undo that the user declines sends no request', async () => {
  const at = await applied(['A']);
  const declined = await at.run(['undo'], {
    ...{ isTopLevel: true, tty: ['stdin', 'stderr'], answers: [false] },
  });
  expect([declined.code, declined.asked.length, declined.writes]).toEqual([10, 1, []]);
  expect([description(at, 'A'), (await listed(at))[0].is_undone]).toEqual(['Second', false]);
});
test('an undo that stops marks the labels that it restored before', async () => {
  const at = await applied(['A', 'B']);
  const stopped = await undo(at, ['--yes'], rejecting(at.id('B'), 401));
  expect([stopped.code === 0, description(at, 'A'), description(at, 'B')]).toEqual([
    false,
    'First',
    'Second',
  ]);
  expect((await undo(at)).code).toBe(0);
  expect(description(at, 'B')).toBe('First');
});
test('a rejected change is not recorded and does not block the undo of the change before', async () => {
  const at = await applied(['A']);
  const before = await listed(at);
  const rejected = await apply(at, textOf(['A'], 'Third'), rejecting(at.id('A'), 400));
  expect([rejected.code === 0, description(at, 'A')]).toEqual([false, 'Second']);
  expect(await listed(at)).toEqual(before);
  expect((await undo(at)).code).toBe(0);
  expect(description(at, 'A')).toBe('First');
});
test('undo warns about permissions that changed after the definition, and is partial', async () => {
  const at = await applied(['A']);
  const permissions = 'permissions: [{role: READER, email: r@example.com}]\n';
  const ran = await apply(at, `${textOf(['A'], 'Third')}${permissions}`);
  expect([ran.code, ran.code === 0 ? '' : ran.err]).toEqual([0, '']);
  const undone = await undo(at);
  expect([undone.code, description(at, 'A')]).toEqual([9, 'Second']);
  expect(undone.err).toMatch(/A: \S*permissions\S* is outside of the definition/);
  expect((await listed(at))[0]).toMatchObject({ is_undone: true });
});
test('permissions that the service rejected after a definition change do not make the undo partial', async () => {
  const at = await applied(['A']);
  const permissions = 'permissions: [{role: READER, email: r@example.com}]\n';
  const isPermission: Meanwhile = ({ method, path }) =>
    method === 'POST' && path.includes('permissions') ? answer(400) : undefined;
  const ran = await apply(at, `${textOf(['A'], 'Third')}${permissions}`, isPermission);
  expect([ran.code === 0, description(at, 'A')]).toEqual([false, 'Third']);
  const undone = await undo(at);
  expect([undone.code, description(at, 'A')]).toEqual([0, 'Second']);
  expect(undone.err).not.toContain('outside of the definition');
});
test('a torn last line of a record does not prevent the undo or its mark', async () => {
  const at = await applied(['A']);
  const [{ path }] = await listed(at);
  await at.write(path, `${at.read(path)}d 1 - labels`);
  expect((await undo(at)).code).toBe(0);
  expect((await listed(at))[0]).toMatchObject({ path, is_undone: true });
});
describe('undos in a row', () => {
  const appliedTimes = async (...texts: readonly string[]): Promise<LabelsInMemory> => {
    const at = labelsInMemory();
    for (const text of texts) expect((await apply(at, textOf(['A'], text))).code).toBe(0);
    return at;
  };
  test('each undo reverts one more apply, because an own undo is not a change by others', async () => {
    const at = await appliedTimes('First', 'Second', 'Third', 'Fourth');
    for (const text of ['Third', 'Second', 'First']) {
      const undone = await undo(at);
      expect([undone.code, undone.code === 0 ? '' : undone.err, description(at, 'A')]).toEqual([0, '', text]);
    }
  });
  test('a change by others after the first undo is refused', async () => {
    const at = await appliedTimes('First', 'Second', 'Third');
    expect((await undo(at)).code).toBe(0);
    at.edit('A', { description: 'theirs' });
    const refused = await undo(at);
    expect([refused.code, description(at, 'A')]).toEqual([10, 'theirs']);
    expect(refused.err).toContain('A changed since');
  });
  test('a change by others between the two applies is refused', async () => {
    const at = await appliedTimes('First', 'Second');
    at.edit('A', { description: 'theirs' });
    expect((await apply(at, textOf(['A'], 'Third'), undefined, ['--take', 'ours'])).code).toBe(0);
    expect((await undo(at)).code).toBe(0);
    expect(description(at, 'A')).toBe('theirs');
    const refused = await undo(at);
    expect([refused.code, description(at, 'A')]).toEqual([10, 'theirs']);
    expect(refused.err).toContain('A changed since');
  });
});
test('a damaged record is named and does not block the other records, but no older change is undone for it', async () => {
  const at = await applied(['A']);
  const others = await listed(at);
  const damaged = [`${WRITES}/zz000000-1-labels.write`, `${WRITES}/zz000001-1-tracker.write`];
  for (const path of damaged) await at.write(path, 'h 5\nnonsense\n');
  const list = await undo(at, ['--list', '-o', 'json']);
  expect(JSON.parse(list.out)).toEqual(others);
  for (const path of damaged) expect(list.err).toContain(`${path}:2 is damaged`);
  expect(list.err).not.toMatch(/bulk|--restart/);
  const before = description(at, 'A');
  const refused = await undo(at);
  expect([refused.code, description(at, 'A')]).toEqual([3, before]);
  expect(refused.err).toContain(damaged[1]);
  const [{ id = '' } = {}] = others as { id?: string }[];
  expect((await undo(at, [id, '--yes'])).code).toBe(0);
  expect(description(at, 'A')).toBe('First');
});
test('a definition with line separators of Unicode can be undone', async () => {
  const at = await applied(['A']);
  const odd = 'x\u2028y\u2029z';
  for (const text of [odd, 'Last'])
    expect((await apply(at, textOf(['A'], JSON.stringify(text)))).code).toBe(0);
  const undone = await undo(at);
  expect([undone.code, description(at, 'A')]).toEqual([0, odd]);
});
