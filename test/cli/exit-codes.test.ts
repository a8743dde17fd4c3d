/** Each error category exits with its exit code: the whole program, on an in-memory machine. */
import { expect, test } from 'vitest';
import { exitCodes, type Category } from '../../src/core/problem.ts';
import { NetworkError } from '../../src/platform/host.ts';
import { covers, markTest } from '../support/covers.ts';
import { type RunOptions, trackerInMemory } from '../support/in-memory.ts';

const answer = (status: number): RunOptions => ({ meanwhile: () => ({ status, json: { message: 'no' } }) });
const create = ['labels', 'create', '--name', 'bug'];

test.each<[Category | 'done', string[], RunOptions]>([
  ['done', create, {}],
  ['usage', ['labels', 'create', '--nmae', 'bug'], {}],
  ['auth', create, answer(401)],
  ['refused', create, answer(403)],
  ['refused', create, answer(422)],
  ['not-found', ['stories', 'get', '123'], answer(404)],
  ['rate-limit', ['labels', 'list'], answer(429)],
  ['network', ['labels', 'list'], answer(500)],
  [
    'network',
    create,
    {
      meanwhile: () => {
        throw new NetworkError('REFUSED', 'tracker.example: connection refused', false);
      },
    },
  ],
  [
    'unknown',
    create,
    {
      meanwhile: () => {
        throw new TypeError('a mistake in the program');
      },
    },
  ],
  ['config', create, { origin: 'https://tracker.example/api/v2' }],
  ['no', ['diff', '-f', 'wanted.yaml'], {}],
])(
  'exit code of the category %s: %j',
  covers('spec/program#exit-codes-1'),
  async (category, argv, options) => {
    markTest(`exit/${category}`);
    const at = trackerInMemory({ 'wanted.yaml': 'labels:\n  - name: bug\n' });
    const { code, err } = await at.run([...argv, '-o', 'json'], options);
    expect({ code, err: code === exitCodes[category].code ? '' : err }).toEqual({
      code: exitCodes[category].code,
      err: '',
    });
  },
);
