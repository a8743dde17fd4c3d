import { describe, expect, test } from 'vitest';
import { withMachineHints } from '../../../src/auth/machine/identity-token.ts';
import { errorRows, ruleFor, steps } from '../../../src/auth/protocol/hints.ts';
import { refusedByUser } from '../../../src/auth/flow.ts';
import { serviceFailure } from '../../../src/auth/protocol/send.ts';
import { makeAuthContext } from '../auth-context.ts';

const machineSteps = ['service-account', 'client-credentials', 'token-exchange'];
const cells = Object.keys(errorRows).flatMap((error) => steps.map((step) => [step, error] as const));

describe(`${cells.length} cells of step × error`, () => {
  test.each(cells)('%s × %s names a remedy', (step, error) => {
    const { category, tryThis } = ruleFor(step, error);
    expect(['auth', 'refused', 'network']).toContain(category);
    expect(tryThis.length).toBeGreaterThan(0);
    for (const hint of tryThis) expect(hint).not.toMatch(/[…\n]$/);
    // A CI job has no browser, and a user has no identity token of a CI.
    if (machineSteps.includes(step)) expect(tryThis.join('\n')).not.toContain('opsctl login');
    else expect(tryThis.join('\n')).not.toContain('identity token');
    const failure = serviceFailure(step, error, 'the reason of the server \u001b[31m', 400);
    expect(failure.message).toContain('the reason of the server \\u{1b}[31m');
    expect(failure.detail.tryThis).toEqual(tryThis);
  });
});

test.each([
  ['refresh', 'interaction_required', 'auth', /^opsctl login$/],
  ['device flow', 'expired_token', 'auth', /--method device/],
  ['device flow', 'invalid_grant', 'auth', /--method device/],
  ['service-account', 'interaction_required', 'auth', /MFA/],
  ['service-account', 'invalid_grant', 'auth', /clock/],
  ['token-exchange', 'invalid_grant', 'auth', /new identity token/],
  ['token-exchange', 'invalid_target', 'refused', /OPSCTL_AUDIENCE/],
  ['client-credentials', 'invalid_client', 'auth', /OPSCTL_CLIENT_AUTH=basic/],
  ['code exchange', 'invalid_client', 'auth', /OPSCTL_CLIENT_AUTH=basic/],
  ['revoke', 'invalid_grant', 'auth', /--local/],
] as const)('%s × %s', (step, error, category, remedy) => {
  const rule = ruleFor(step, error);
  expect(rule.category).toBe(category);
  expect(rule.tryThis.join('\n')).toMatch(remedy);
});

test.each(['constructor', '__proto__', 'something_new'])(
  'the unknown error %s has a hint as well',
  (error) => {
    expect(ruleFor('refresh', error)).toMatchObject({ category: 'refused', tryThis: ['opsctl doctor auth'] });
  },
);

test.each([...steps].map((step) => [step] as const))(
  'a CI job never reads "opsctl login": %s',
  async (step) => {
    const context = await makeAuthContext({
      env: { CI: 'true' },
      settings: { 'auth.issuer': 'https://idp.example' },
    });
    for (const error of Object.keys(errorRows)) {
      const failure = await withMachineHints(context, () =>
        Promise.reject(serviceFailure(step, error, undefined, 400)),
      ).catch((thrown: unknown) => thrown);
      const { tryThis = [] } = (failure as { detail: { tryThis?: string[] } }).detail;
      expect(tryThis.length).toBeGreaterThan(0);
      for (const hint of tryThis) expect(hint).not.toMatch(/^opsctl login(?! --start)/);
    }
    await context.close();
  },
);

test('a denial names the missing scopes as a cause only if the request had none', () => {
  const hintsFor = (requested: readonly string[]) =>
    refusedByUser({ error: 'access_denied', params: new URLSearchParams() }, requested).detail.tryThis?.join(
      '\n',
    );
  expect(hintsFor([])).toContain('--scope SCOPE');
  expect(hintsFor(['email'])).not.toContain('--scope SCOPE');
});
