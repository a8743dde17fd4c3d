import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  type AuthServer,
  ada,
  authServer,
  channels,
  clients,
  control,
  post,
  refresh,
  tokensFor,
} from '../support/auth-server.ts';

// Behavior of the real service beyond the document: disabled unless a setting or a receiver enables it.
const base = 'https://schemas.opsctl.example/secevent';
const day = 86_400_000;
let server: AuthServer;
let receiver: Server;
const got: Record<string, any>[] = [];
beforeEach(async () => {
  server = await authServer();
  got.length = 0;
  receiver = createServer((request, reply) => {
    let body = '';
    request.on('data', (chunk) => (body += chunk));
    request.on('end', () => {
      got.push(JSON.parse(Buffer.from(body.split('.')[1] ?? '', 'base64url').toString()).events);
      reply.writeHead(202).end();
    });
  });
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
});
afterEach(() => {
  receiver.close();
});
const set = (settings: Record<string, unknown>) => control(server, 'PATCH', '/settings', settings);
const answerOf = async (token: string) => {
  const { status, json } = await refresh(server, token);
  return { status, ...json };
};

test('[OAS-6.17] refresh tokens that end by age: never unless set, and without announcing it', async () => {
  const tokens = await tokensFor(server);
  server.advance(8 * day);
  expect((await refresh(server, tokens.refresh_token)).status).toBe(200);
  await set({ refresh_token_days: 7 });
  expect(await answerOf(tokens.refresh_token)).toEqual({
    status: 400,
    error: 'invalid_grant',
    error_description: 'Token has been expired or revoked.',
  });
  const fresh = await tokensFor(server);
  expect(Object.keys(fresh)).not.toContain('refresh_token_expires_in');
  server.advance(7 * day - 1);
  expect((await refresh(server, fresh.refresh_token)).status).toBe(200);
  server.advance(1);
  expect((await refresh(server, fresh.refresh_token)).status).toBe(400);
});

test('[OAS-6.17] a new password revokes the refresh tokens only if the setting enables it', async () => {
  const tokens = await tokensFor(server);
  await control(server, 'PATCH', `/users/${ada.email}`, { password: 'next' });
  expect((await refresh(server, tokens.refresh_token)).status).toBe(200);
  await set({ revoke_on_password_change: true });
  await control(server, 'PATCH', `/users/${ada.email}`, { password: 'after' });
  expect((await refresh(server, tokens.refresh_token)).json.error).toBe('invalid_grant');
  expect((await channels(server, tokens.access_token)).status).toBe(401);
});

test('[OAS-6.18] a policy that requires a new sign-in: invalid_grant with a subtype, and the token stays valid', async () => {
  const tokens = await tokensFor(server);
  await set({ reauth_after_seconds: 3600 });
  server.advance(3_599_999);
  expect((await refresh(server, tokens.refresh_token)).status).toBe(200);
  server.advance(1);
  expect(await answerOf(tokens.refresh_token)).toEqual({
    status: 400,
    error: 'invalid_grant',
    error_subtype: 'invalid_rapt',
    error_description: 'reauth related error (invalid_rapt)',
  });
  await set({ reauth_after_seconds: null });
  expect((await refresh(server, tokens.refresh_token)).status).toBe(200);
});

const subscribe = (types?: string[]) => {
  const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/events`;
  return control(server, 'POST', '/events/subscriptions', {
    client: clients.desktop,
    receiver: url,
    ...(types ? { types } : {}),
  });
};
/** Runs all possible events of Ada's account in sequence. */
const live = async (): Promise<void> => {
  await tokensFor(server);
  await control(server, 'PATCH', `/users/${ada.email}`, { password: 'next' });
  await control(server, 'POST', `/users/${ada.email}/disable`, {});
  await control(server, 'POST', `/users/${ada.email}/enable`, {});
  const [grant] = (await control(server, 'GET', '/grants')).json;
  await control(server, 'DELETE', `/grants/${grant.id}`);
  await tokensFor(server, {}, { ...ada, password: 'next' });
  await control(server, 'DELETE', `/users/${ada.email}`);
};
const typesGot = (): string[] => got.flatMap((events) => Object.keys(events)).sort();

test('[OAS-11.8] the other event types reach a receiver that lists them, with the account as subject', async () => {
  const others = [
    `${base}/oauth/event-type/tokens-revoked`,
    `${base}/risc/event-type/account-credential-change-required`,
    `${base}/risc/event-type/account-enabled`,
    `${base}/risc/event-type/account-purged`,
    `${base}/risc/event-type/verification`,
  ];
  const subscription = (await subscribe(others)).json;
  await live();
  await expect.poll(() => got.length).toBe(5);
  expect(typesGot()).toEqual([...others].sort());
  const all = Object.assign({}, ...got);
  expect(all[`${base}/risc/event-type/verification`].state).toBe(subscription.id);
  for (const type of others.slice(0, 4))
    expect(all[type].subject).toEqual({ subject_type: 'iss-sub', iss: server.origin, sub: ada.sub });
});

test('[OAS-11.8] a receiver without types gets only the three of the document', async () => {
  expect((await subscribe()).json.types).toHaveLength(3);
  await live();
  await expect.poll(() => got.length).toBe(2);
  expect(typesGot()).toEqual([
    `${base}/oauth/event-type/token-revoked`,
    `${base}/risc/event-type/account-disabled`,
  ]);
});

test('a deleted account can be neither disabled nor enabled', async () => {
  await control(server, 'DELETE', `/users/${ada.email}`);
  for (const verb of ['disable', 'enable'])
    expect((await control(server, 'POST', `/users/${ada.sub}/${verb}`, {})).status).toBe(409);
  const users = (await control(server, 'GET', '/users')).json;
  expect(users.find(({ id }: { id: string }) => id === ada.sub).state).toBe('deleted');
});

test('[OAS-6.5] hours after the expiry of a refresh token its error has fewer details, if configured', async () => {
  const text = async (token: string) => (await answerOf(token)).error_description;
  const revoke = (token: string) => post(`${server.origin}/revoke?token=${encodeURIComponent(token)}`, '');
  const early = await tokensFor(server);
  await revoke(early.refresh_token);
  server.advance(13 * 3_600_000);
  expect(await text(early.refresh_token)).toBe('Token has been expired or revoked.');
  await set({ refusal_text_hours: 12 });
  const tokens = await tokensFor(server);
  await revoke(tokens.refresh_token);
  expect(await text(tokens.refresh_token)).toBe('Token has been expired or revoked.');
  expect((await channels(server, tokens.access_token)).status).toBe(401);
  expect((await revoke(tokens.refresh_token)).json.error).toBe('invalid_token');
  server.advance(12 * 3_600_000 - 1);
  expect(await text(tokens.refresh_token)).toBe('Token has been expired or revoked.');
  server.advance(1);
  expect(await text(tokens.refresh_token)).toBe('Bad Request');
  expect(await answerOf('1//never-issued')).toEqual({
    status: 400,
    error: 'invalid_grant',
    error_description: 'Bad Request',
  });
});
