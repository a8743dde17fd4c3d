import { expect, test } from 'vitest';
import { checkFields } from '../../../src/core/check.ts';
import { operations } from '../../../src/core/operation.ts';
import {
  clientLimits,
  clientTypeRows,
  documentedEventTypes,
} from '../../../src/api-specs/oauth/console-records.ts';
import { consoleTable, oauthConsole } from '../../../src/api-specs/oauth/console.ts';
import {
  knownScopes,
  authPaths,
  challengeMethods,
  fullScope,
  isIdentityScope,
  oauthParams,
  s256ChallengePattern,
  scopeBase,
  scopeName,
  scopeRow,
  scopeRows,
  splitScopes,
  verifierPattern,
  mediaScopes,
  mediaTable,
  partScopes,
} from '../../../src/api-specs/oauth/endpoints.ts';
import { authorizationErrors, tokenErrors } from '../../../src/mock-server/oauth/errors.ts';
import { readSpec } from '../../spec/read.ts';

test('scopes: the seven of the document with their meanings, in its order', () => {
  const media = scopeRows
    .filter((row) => row.family === 'media')
    .map(({ name, meaning }) => ({ scope: `{scope_base}/${name}`, meaning }));
  expect(media).toEqual(readSpec('oauth-scopes'));
  for (const { consent } of scopeRows) expect(consent).toMatch(/^(See|Manage|Know)/);
});
test.each([
  ['https://scopes.opsctl.example/auth/media.readonly', 'media.readonly'],
  ['https://other.example/a/b/media.readonly', 'media.readonly'],
  ['{scope_base}/media', 'media'],
  ['media.upload', 'media.upload'],
  ['openid', 'openid'],
  ['https://scopes.opsctl.example/auth/openid', undefined],
  ['https://scopes.opsctl.example/auth/MEDIA', undefined],
  ['http://plain.example/media', undefined],
  ['media.', undefined],
  ['', undefined],
])('the scope %s is %s', (scope, name) => {
  expect(scopeRow(scope)?.name).toBe(name);
});
test('full names and lists of scopes', () => {
  expect(fullScope('media')).toBe(`${scopeBase}/media`);
  expect(fullScope('email')).toBe('email');
  expect(knownScopes.map(scopeName)).toEqual(scopeRows.map(({ name }) => name));
  expect(splitScopes('  b a  b ')).toEqual(['b', 'a']);
  expect(knownScopes.filter(isIdentityScope)).toEqual(['openid', 'profile', 'email']);
});

test('the table has the eight errors of the document with conditions, and token errors with a remedy', () => {
  const spec = readSpec('oauth-errors');
  const document = spec
    .filter(({ source }) => source === 'document')
    .map(({ code, condition }) => ({ code, condition }));
  expect(Object.values(authorizationErrors).map(({ code, condition }) => ({ code, condition }))).toEqual(
    document,
  );
  for (const row of Object.values(authorizationErrors))
    expect([row.title, row.says, row.remedies.length > 0].every(Boolean), row.code).toBe(true);
  const others = spec.filter(({ source }) => source !== 'document').map(({ code }) => code);
  expect(Object.keys(tokenErrors)).toEqual(expect.arrayContaining(others as string[]));
  for (const row of Object.values(tokenErrors)) expect(row.remedy).not.toBe('');
});

test('client types: titles of the document; only desktop kinds may have a secret', () => {
  expect(Object.values(clientTypeRows).map(({ title }) => title)).toEqual(
    readSpec('oauth-clients').map(({ type }) => type),
  );
  const secret = Object.values(clientTypeRows).filter((row) => row.mayHaveSecret);
  expect(secret.map(({ type }) => type)).toEqual(['universal-desktop', 'desktop']);
});
test('limits', () => {
  const limit = (name: string) =>
    readSpec('oauth-limits').find((row) => row.limit?.startsWith(name))?.value ?? '';
  expect(limit('custom URI scheme')).toContain(String(clientLimits.universalScheme));
  expect(limit('store ID')).toContain(String(clientLimits.universalStoreId));
  expect(limit('deleted client')).toContain(String(clientLimits.restoreDays));
  expect(limit('integrity check')).toContain(String(clientLimits.integrityMinutes));
  expect(limit('code_verifier')).toBe('43 to 128 characters');
  for (const [length, fits] of [
    [42, false],
    [43, true],
    [128, true],
    [129, false],
  ] as const)
    expect(verifierPattern.test('a'.repeat(length))).toBe(fits);
  expect(s256ChallengePattern.test('a'.repeat(43))).toBe(true);
});

test('parameters and fields of each endpoint', () => {
  const spec = readSpec('oauth-params');
  for (const [endpoint, names] of Object.entries(oauthParams))
    expect(names, endpoint).toEqual(
      spec.filter((row) => row.endpoint === endpoint).map(({ field }) => field),
    );
  expect(challengeMethods).toEqual(['S256', 'plain']);
  expect([authPaths.authorize, authPaths.token, authPaths.revoke]).toEqual([
    '/o/oauth2/v2/auth',
    '/token',
    '/revoke',
  ]);
});

test('event types end with the paths of the document', () => {
  expect(
    documentedEventTypes.map((type) => type.replace(/^https:\/\/[^/]+\/[^/]+\//, '{secevent_base}/')),
  ).toEqual(readSpec('oauth-events').map(({ type }) => type));
});

test('every operation of the data API has existing scopes', () => {
  const rows = operations(mediaTable).map(({ resource, verb }) => `${resource}.${verb}`);
  expect(Object.keys(mediaScopes).sort()).toEqual([...rows].sort());
  const names = scopeRows.map(({ name }) => name);
  for (const scope of [...Object.values(mediaScopes).flat(), ...Object.values(partScopes)])
    expect(names).toContain(scope);
});

test('the console has one row for each path and method, and cites the document', () => {
  const keys = operations(consoleTable).map(({ operation }) => `${operation.method} ${operation.path}`);
  expect(new Set(keys).size).toBe(keys.length);
  for (const { operation } of operations(oauthConsole.table))
    expect(operation.cites).toMatch(/^spec\/(sign-in|program)\b/);
  expect(
    checkFields(consoleTable.clients.create.body, { type: 'desktop', name: '' }).map(({ path }) => path),
  ).toEqual(['name']);
});
