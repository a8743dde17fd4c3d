import { describe, expect, test } from 'vitest';
import { pastedVerdict } from '../../../src/auth/methods/paste.ts';
import { fakeHost } from '../../support/fake-host.ts';
import { contextOn } from '../schedules/environment.ts';
import { naming } from '../../support/facts.ts';

const read = async (stdin: string) => {
  const warnings: string[] = [];
  const context = contextOn(fakeHost({ stdin }));
  const log = { ...context.log, warn: (line: string) => void warnings.push(line) };
  const verdict = await pastedVerdict({ ...context, log }, { state: 's' }, context.signal);
  return { verdict, warnings };
};

test('the first line for this login counts; other lines are explained and ignored', async () => {
  const lines = [
    '',
    'http://127.0.0.1:1/?code=c&state=other',
    'http://127.0.0.1:1/?code=c1&state=s',
    'later',
  ];
  const { verdict, warnings } = await read(`${lines.join('\n')}\n`);
  expect(verdict).toMatchObject({ kind: 'code', callback: { code: 'c1' } });
  expect(warnings).toEqual([naming('not', 'state', 'another', 'login')]);
});

test('a denial is a response, and the end of input is not', async () => {
  const denied = 'http://127.0.0.1:1/?error=access_denied&state=s\n';
  expect((await read(denied)).verdict).toMatchObject({
    kind: 'refused',
    refusal: { error: 'access_denied' },
  });
  expect((await read('')).verdict).toBeUndefined();
});

describe('a broken address', () => {
  const state = 'f0A-3kd_93hdU2kd93jfkf9s0a';
  const address = `http://127.0.0.1:47110/?code=4%2F0Abc&state=${state}&scope=read`;
  const paste = async (lines: readonly string[]) => {
    const context = contextOn(fakeHost({ stdin: `${lines.join('\n')}\n` }));
    return pastedVerdict(context, { state }, context.signal);
  };
  test('a broken URL is joined at any position', async () => {
    for (let at = 1; at < address.length; at++)
      expect(await paste([address.slice(0, at), address.slice(at)]), `break at ${at}`).toMatchObject({
        kind: 'code',
        callback: { code: '4/0Abc' },
      });
  });
  test('a broken URL is joined from three lines with indents and empty lines', async () => {
    const pieces = [address.slice(0, 20), '', `   ${address.slice(20, 45)}  `, address.slice(45)];
    expect(await paste(pieces)).toMatchObject({ kind: 'code', callback: { code: '4/0Abc' } });
  });
  test.each([
    ['the end of the state', state.slice(9)],
    ['the end of the state and what follows', `${state.slice(9)}&scope=read`],
    ['the start of the state', state.slice(0, 9)],
  ])('a part of a URL is never a code: %s', async (_, piece) => {
    expect(await paste([piece])).toBeUndefined();
  });
  test('a code that ends in a padding is a code', async () => {
    expect(await paste(['SplxlOBeZQQYbYS6WxSbIA=='])).toMatchObject({ kind: 'code' });
  });
  test('a whole address replaces a wrong one', async () => {
    expect(await paste(['http://127.0.0.1:1/?code=old&state=other', address])).toMatchObject({
      kind: 'code',
      callback: { code: '4/0Abc' },
    });
  });
});
