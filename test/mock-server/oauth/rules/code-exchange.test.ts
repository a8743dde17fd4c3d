import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import {
  codeIsGiven,
  codeIsOfTheClient,
  codeRules,
  exchangeRules,
  redirectIsTheSame,
  verifierIsWellFormed,
  verifierMatchesTheChallenge,
} from '../../../../src/mock-server/oauth/rules/token-client.ts';
import type { ExchangeCall } from '../../../../src/mock-server/oauth/rules/rule.ts';
import { naming } from '../../../support/facts.ts';

const verifier = 'v'.repeat(43);
const challenge = createHash('sha256').update(verifier).digest('base64url');
type Asked = { client: string; redirect_uri: string; challenge: string | null; method: string };
const call = (fields: Record<string, string>, asked: Partial<Asked> = {}): ExchangeCall =>
  ({
    params: new Map(Object.entries(fields)),
    client: { id: 'c1' },
    code: {
      asked: { client: 'c1', redirect_uri: 'http://127.0.0.1:1', challenge, method: 'S256', ...asked },
    },
  }) as unknown as ExchangeCall;
/** Returns the result of a rule: the error code and text, or undefined if the call satisfies the rule. */
const outcome = (rule: (call: ExchangeCall) => void, given: ExchangeCall): string | undefined => {
  try {
    rule(given);
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
};

test('missing code and redirect_uri are named; a value of spaces is missing', () => {
  expect(outcome(codeIsGiven, call({ code: 'x', redirect_uri: 'y' }))).toBeUndefined();
  expect(outcome(codeIsGiven, call({ redirect_uri: 'y' }))).toContain('code');
  expect(outcome(codeIsGiven, call({ code: 'x', redirect_uri: '' }))).toContain('redirect_uri');
});

test.each([
  [verifier, true],
  ['v'.repeat(128), true],
  [`${'v'.repeat(40)}-._`, true],
  [`${'v'.repeat(42)}~`, true],
  ['v'.repeat(42), false],
  ['v'.repeat(129), false],
  [`${'v'.repeat(43)}+`, false],
  [`${'v'.repeat(43)}é`, false],
])('a verifier %s is well formed: %s', (code_verifier, holds) => {
  expect(outcome(verifierIsWellFormed, call({ code_verifier })) === undefined).toBe(holds);
});

test('a code is of its client, and its redirect URI is the same to the letter', () => {
  expect(outcome(codeIsOfTheClient, call({}))).toBeUndefined();
  expect(outcome(codeIsOfTheClient, call({}, { client: 'c2' }))).toContain('another client');
  expect(outcome(redirectIsTheSame, call({ redirect_uri: 'http://127.0.0.1:1' }))).toBeUndefined();
  for (const redirect_uri of ['http://127.0.0.1:1/', 'http://127.0.0.1:2', 'http://[::1]:1'])
    expect(outcome(redirectIsTheSame, call({ redirect_uri }))).toContain('redirect_uri_mismatch');
});

test('a verifier matches its challenge by its method, and is only sent with a challenge', () => {
  const outcomeOf = (fields: Record<string, string>, asked?: Partial<Asked>) =>
    outcome(verifierMatchesTheChallenge, call(fields, asked));
  expect(outcomeOf({ code_verifier: verifier })).toBeUndefined();
  expect(outcomeOf({ code_verifier: verifier }, { challenge: verifier, method: 'plain' })).toBeUndefined();
  expect(outcomeOf({ code_verifier: challenge }, { method: 'S256' })).toEqual(naming('code', 'verifier'));
  expect(outcomeOf({ code_verifier: 'w'.repeat(43) })).toEqual(naming('code', 'verifier'));
  expect(outcomeOf({})).toEqual(naming('code', 'verifier'));
  expect(outcomeOf({}, { challenge: null })).toBeUndefined();
  expect(outcomeOf({ code_verifier: verifier }, { challenge: null })).toContain('not needed');
});

test('all of them are part of the exchange, in this order', () => {
  expect(codeRules).toEqual([codeIsGiven, verifierIsWellFormed]);
  expect(exchangeRules.map(({ name }) => name)).toEqual([
    'codeIsOfTheClient',
    'codeIsInTime',
    'redirectIsTheSame',
    'verifierMatchesTheChallenge',
    'keyIsTheOneOfTheRequest',
  ]);
});
