import { expect, test } from 'vitest';
import { pastedVerdict } from '../../../src/auth/methods/paste.ts';
import { fakeHost } from '../../support/fake-host.ts';
import { contextOn } from '../schedules/environment.ts';

const read = async (stdin: string) => {
  const warnings: string[] = [];
  const context = contextOn(fakeHost({ stdin }));
  const log = { ...context.log, warn: (line: string) => void warnings.push(line) };
  const verdict = await pastedVerdict({ ...context, log }, { state: 's' }, context.signal);
  return { verdict, warnings };
};

test('the first line that answers this login counts; others are explained and change nothing', async () => {
  const lines = [
    '',
    'http://127.0.0.1:1/?code=c&state=other',
    'http://127.0.0.1:1/?code=c1&state=s',
    'later',
  ];
  const { verdict, warnings } = await read(`${lines.join('\n')}\n`);
  expect(verdict).toMatchObject({ kind: 'code', callback: { code: 'c1' } });
  expect(warnings).toEqual(['The pasted line was not used: the state belongs to another login.']);
});

test('a denial counts as well, and the end of input is no answer', async () => {
  const denied = 'http://127.0.0.1:1/?error=access_denied&state=s\n';
  expect((await read(denied)).verdict).toMatchObject({
    kind: 'refused',
    refusal: { error: 'access_denied' },
  });
  expect((await read('')).verdict).toBeUndefined();
});
