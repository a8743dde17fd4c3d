import { expect, test } from 'vitest';
import { AppError } from '../../src/core/problem.ts';
import { baseOf } from '../../src/labels/prepare.ts';
import { recordFrom, unorderedDigest } from '../../src/labels/lock-entries.ts';
import { liveFrom } from '../../src/labels/from-label.ts';
import { contextWith } from '../support/context.ts';

const json = (revisionId: string, description: string) => ({
  ...{ id: 'L', revisionId, labelType: 'SHARED', properties: { title: 'Contract', description } },
  lifecycle: { state: 'PUBLISHED' },
});
const now = liveFrom(json('4', 'theirs'));
/** A service that has one revision in addition to the newest revision, or only the newest revision. */
const service = (revision?: ReturnType<typeof json>) => {
  const asked: string[] = [];
  const call = async (_: unknown, __: unknown, { params }: { params: { name: string } }) => {
    asked.push(params.name);
    if (revision === undefined) throw new AppError('not-found', 'gone');
    return revision;
  };
  return { asked, context: contextWith({ lookups: { call } }) };
};
const recordOf = (revision: ReturnType<typeof json>, more: object = {}) => ({
  ...recordFrom({ title: 'Contract' }, liveFrom(revision), undefined, 'd'),
  ...more,
});
const wanted = { title: 'Contract' };

test('a record of the current state needs no read of its revision', async () => {
  const { asked, context } = service();
  const record = recordOf(json('4', 'theirs'));
  expect(await baseOf(context, wanted, now, record, {})).toEqual({
    ...{ revision: '4', label: now, fields: [], record },
  });
  expect(asked).toEqual([]);
});

test('the changes that an apply recorded before it crashed count as its own', async () => {
  const record = recordOf(json('3', 'ours'), { applying: unorderedDigest(now) });
  const base = await baseOf(service().context, wanted, now, record, {});
  expect(base).toEqual({ revision: '4', label: now, fields: [] });
});

test('else the revision of the record is what was compared with', async () => {
  const then = json('3', 'ours');
  const { asked, context } = service(then);
  const base = await baseOf(context, wanted, now, recordOf(then), {});
  expect([base, asked]).toMatchObject([
    { revision: '3', label: { description: 'ours' }, record: { revision: '3' } },
    ['labels/L@3'],
  ]);
});

test('a revision that is gone, or is not what was recorded, is known by the record alone', async () => {
  const record = recordOf(json('3', 'ours'));
  for (const there of [undefined, json('3', 'another')]) {
    const base = await baseOf(service(there).context, wanted, now, record, {});
    expect(base).toEqual({ revision: '3', label: undefined, fields: [], record });
  }
});

test('a record of another label is ignored', async () => {
  const record = recordOf(json('3', 'ours'), { id: 'other' });
  expect(await baseOf(service().context, wanted, now, record, {})).toBeUndefined();
});

test('a file of an earlier version names the revision, which counts where its id is found', async () => {
  const file = { title: 'Contract', id: 'L', revision: '3' };
  const gone = service();
  expect(await baseOf(gone.context, file, now, undefined, {})).toBe('gone');
  expect(await baseOf(gone.context, { ...file, id: 'other' }, now, undefined, {})).toBeUndefined();
  expect(
    await baseOf(gone.context, { title: 'Contract', revision: '3' }, now, undefined, {}),
  ).toBeUndefined();
  expect(await baseOf(gone.context, { title: 'Contract', id: 'L' }, now, undefined, {})).toBeUndefined();
  expect(gone.asked).toEqual(['labels/L@3']);
  expect(await baseOf(gone.context, { ...file, revision: '4' }, now, undefined, {})).toMatchObject({
    label: now,
  });
  expect(gone.asked).toHaveLength(1);
  const there = service(json('3', 'ours'));
  expect(await baseOf(there.context, file, now, undefined, {})).toMatchObject({
    ...{ revision: '3', label: { description: 'ours' } },
  });
});

test('an unreadable revision is not a deleted revision', async () => {
  const failing = (error: Error) => {
    const context = contextWith({ lookups: { call: () => Promise.reject(error) } });
    return baseOf(context, { title: 'Contract', id: 'L', revision: '3' }, now, undefined, {});
  };
  expect(await failing(new AppError('not-found', 'gone'))).toBe('gone');
  await expect(failing(new AppError('auth', 'no'))).rejects.toThrow('no');
  await expect(failing(new Error('bug'))).rejects.toThrow('bug');
});
