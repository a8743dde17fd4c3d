import { AppError } from '../../core/problem.ts';

/** A state directory has one server at a time. */
export const alreadyRuns = (url: string, pid: number): AppError =>
  new AppError('config', `a mock server already works on this state: ${url} (process ${pid})`, {
    code: 'MOCK_RUNNING',
    tryThis: [
      'use it: every command finds it by itself',
      'opsctl mock stop',
      '--ephemeral for a second one that keeps nothing',
    ],
    data: { url, pid },
  });
