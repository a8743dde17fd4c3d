import { expect, test } from 'vitest';
import { AppError } from '../../src/core/problem.ts';
import { sendPinned } from '../../src/labels/send.ts';
import { covers } from '../support/covers.ts';
import { contextWith } from '../support/context.ts';

const refused = (httpStatus: number, code: string) => new AppError('refused', 'no', { httpStatus, code });
/** Returns the outcome of a write that fails with `failure` when the label now has this revision. */
const outcome = async (failure: Error, revisionId: string, more: object = {}) => {
  let reads = 0;
  const call = async () => {
    reads += 1;
    return { revisionId };
  };
  const shown = { name: 'labels/L', title: 'T', revisionId: '3', asking: {}, ...more };
  const error: AppError = await sendPinned(
    contextWith({ call, lookups: { call } }),
    shown,
    'look again',
    (now) => `now ${now.revisionId}`,
    () => Promise.reject(failure),
  ).catch((caught) => caught);
  return { error, reads };
};

test.each([
  [400, 'FAILED_PRECONDITION'],
  [409, 'ABORTED'],
])(
  '%i %s with a newer revision is a change by another user',
  covers('spec/labels#errors-4'),
  async (status, code) => {
    const failure = refused(status, code);
    const { error } = await outcome(failure, '4');
    expect(error.message).toMatch(/^label T .*revision 3,.*revision is 4\. .*\nSince then:\nnow 4$/);
    expect([error.category, error.cause, error.detail]).toEqual([
      'unsafe',
      failure,
      {
        ...{ code: 'CHANGED_MEANWHILE', httpStatus: status, tryThis: ['look again'], cause: failure },
        data: { label: 'labels/L', seen_revision: '3', revision: '4' },
      },
    ]);
    expect((await outcome(failure, '4', { stands: 'The draft was saved.' })).error.message).toContain(
      'revision is 4. The draft was saved.\n',
    );
    const same = await outcome(failure, '3');
    expect([same.error, same.reads]).toEqual([failure, 1]);
  },
);

test.each([
  refused(400, 'INVALID_ARGUMENT'),
  refused(400, 'ABORTED'),
  refused(409, 'FAILED_PRECONDITION'),
  refused(403, 'FAILED_PRECONDITION'),
  Object.assign(new Error('bug'), { detail: { httpStatus: 400, code: 'FAILED_PRECONDITION' } }),
])('any other failure is rethrown without a read', async (failure) => {
  expect(await outcome(failure, '4')).toEqual({ error: failure, reads: 0 });
});
