import { expect, test } from 'vitest';
import { tracker } from '../../../src/api-specs/tracker/index.ts';
import { type Change, changeFrom } from '../../../src/tracker/bulk/change.ts';
import { makeKnownNames } from '../../../src/tracker/bulk/external-keys.ts';
import { naming } from '../../support/facts.ts';
import { contextWith } from '../../support/context.ts';

const change = (resource: string, body: Record<string, unknown>, op = 'create'): Change => {
  const made = changeFrom(tracker.table, op === 'create' ? { body } : { id: 1, body }, 'ndjson', {
    resource,
    op,
  });
  if (!('operation' in made)) throw new Error(JSON.stringify(made));
  return made;
};
/** A tracker with one label and one category, and the requests it received. */
const service = () => {
  const asked: unknown[] = [];
  const rows = async (_: unknown, { path }: { path: string }, input: unknown) => {
    asked.push([path, input]);
    const name = path === '/labels' ? 'bug' : 'goal';
    return (async function* () {
      yield [Buffer.from(JSON.stringify({ id: 1, name }))];
    })();
  };
  return { asked, context: contextWith({ lookups: { rows } }) };
};
const story = (labels: readonly unknown[]): Change => change('stories', { name: 'x', labels });

test('a name that the service lacks is refused with one that is close, and the flag that makes it', async () => {
  const known = makeKnownNames(service().context, []);
  expect(await known.problems(story(['bug', 'bgu']))).toEqual([
    {
      path: 'labels',
      rule: 'rule',
      message: naming('bgu', '--create-labels', 'exist'),
      hint: naming('mean', 'bug?'),
    },
  ]);
  expect((await known.problems(story(['something']))).map(({ hint }) => hint)).toEqual([undefined]);
  expect(await known.problems(change('epics', { name: 'e', categories: ['goal'] }))).toEqual([]);
});

test('names are read once, including in a dry run, and only if a row needs them', async () => {
  const { asked, context } = service();
  const known = makeKnownNames(context, []);
  await known.problems(story([]));
  await known.problems(change('stories', { name: 'x' }));
  expect(asked).toEqual([]);
  await Promise.all([known.problems(story(['bug'])), known.problems(story(['bug']))]);
  expect(asked).toEqual([['/labels', { query: { slim: true } }]]);
});

test('a row may use a new name of a kind that rows may create', async () => {
  const { context } = service();
  expect(await makeKnownNames(context, ['labels']).problems(story(['new']))).toEqual([]);
});

test('a row may use a name that a row before it creates, and not one that a row renames', async () => {
  const known = makeKnownNames(service().context, []);
  expect(await known.problems(story(['later']))).toHaveLength(1);
  await known.problems(change('labels', { name: 'later' }));
  await known.problems(change('labels', { name: 'renamed' }, 'update'));
  await known.problems(change('stories', { name: 'told' }));
  expect(await known.problems(story(['later']))).toEqual([]);
  expect(await known.problems(story(['renamed', 'told']))).toHaveLength(2);
});

test('created names are remembered up to a limit; beyond it no row is looked up', async () => {
  const known = makeKnownNames(service().context, [], 3);
  for (const name of ['a', 'b', 'c', 'c']) await known.problems(change('labels', { name }));
  expect(await known.problems(story(['c', 'nowhere']))).toHaveLength(1);
  await known.problems(change('labels', { name: 'one more' }));
  expect(await known.problems(story(['nowhere']))).toEqual([]);
});

test('labels and categories have separate names, and other values are not looked up', async () => {
  const known = makeKnownNames(service().context, ['categories']);
  await known.problems(change('categories', { name: 'shared' }));
  expect((await known.problems(story(['shared']))).map(({ path }) => path)).toEqual(['labels']);
  expect(await known.problems(change('epics', { name: 'e', categories: ['new'] }))).toEqual([]);
  expect(await known.problems(story([{ color: '#112233' }, 7, null]))).toEqual([]);
  expect(await known.problems(change('stories', { name: 'x', labels: 'new' }))).toEqual([]);
  const goal = await makeKnownNames(service().context, []).problems(
    change('epics', { name: 'e', categories: ['goal', 'gaol'] }),
  );
  expect(goal).toMatchObject([{ path: 'categories', hint: naming('mean', 'goal?') }]);
});
