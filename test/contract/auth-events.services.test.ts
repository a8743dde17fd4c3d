import { createHash, createPublicKey, verify } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import {
  type AuthServer,
  ada,
  authServer,
  bob,
  channels,
  clients,
  control,
  post,
  raw,
  tokensFor,
} from '../support/auth-server.ts';
import { covers } from '../support/covers.ts';

type Got = {
  readonly type: string | undefined;
  readonly body: string;
  readonly tokenStatus: number | undefined;
};
const base = 'https://schemas.opsctl.example/secevent';
let server: AuthServer;
let receiver: Server;
let url = '';
const got: Got[] = [];
/** The next responses of the receiver; 202 if the list is empty. `hang` closes the connection without a response. */
const answers: (number | 'hang')[] = [];
let probe: string | undefined;

beforeAll(async () => {
  server = await authServer();
  await control(server, 'PATCH', '/settings', { event_backoff_ms: 5 });
  receiver = createServer((request, reply) => {
    let body = '';
    request.on('data', (chunk) => (body += chunk));
    request.on('end', async () => {
      const tokenStatus = probe === undefined ? undefined : (await channels(server, probe)).status;
      got.push({ type: request.headers['content-type'], body, tokenStatus });
      const status = answers.shift() ?? 202;
      if (status === 'hang') request.socket.destroy();
      else
        reply
          .writeHead(status, { 'content-type': 'application/json' })
          .end(status === 400 ? '{"err":"invalid_request"}' : '');
    });
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => receiver.once('listening', resolve));
  url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/events`;
});
afterAll(() => {
  receiver.close();
});
beforeEach(async () => {
  for (const one of (await control(server, 'GET', '/events/subscriptions')).json)
    await control(server, 'DELETE', `/events/subscriptions/${one.id}`);
  got.length = 0;
  answers.length = 0;
  probe = undefined;
});
const subscribe = (client: string = clients.desktop, types?: string[]) =>
  control(server, 'POST', '/events/subscriptions', { client, receiver: url, ...(types ? { types } : {}) });
const arrived = async (count: number): Promise<Got[]> => {
  await expect.poll(() => got.length).toBeGreaterThanOrEqual(count);
  return got;
};
const claims = (jwt: string) => JSON.parse(Buffer.from(jwt.split('.')[1] ?? '', 'base64url').toString());
const settled = async () => {
  await expect
    .poll(
      async () =>
        (await control(server, 'GET', '/events/deliveries')).json.filter(
          (one: { state: string }) => one.state === 'pending',
        ).length,
    )
    .toBe(0);
  return (await control(server, 'GET', '/events/deliveries')).json;
};
const revoke = (token: string) => post(`${server.origin}/revoke?token=${encodeURIComponent(token)}`, '');

describe('security events', () => {
  test(
    '[OAS-11.1] [OAS-11.2] [OAS-11.4] sessions revoked, token revoked, account disabled: each reaches the subscribed application',
    covers('spec/sign-in#events-1'),
    async () => {
      await subscribe();
      const tokens = await tokensFor(server, {}, bob);
      await control(server, 'POST', `/users/${bob.email}/sign-out`, {});
      await revoke(tokens.access_token);
      await control(server, 'POST', `/users/${bob.email}/disable`, {});
      await arrived(3);
      await control(server, 'POST', `/users/${bob.email}/enable`, {});
      const events = got.map(({ body }) => claims(body));
      for (const { type } of got) expect(type).toBe('application/secevent+jwt');
      for (const event of events) {
        expect(event).toMatchObject({ iss: server.origin, aud: clients.desktop });
        expect([typeof event.iat, typeof event.jti]).toEqual(['number', 'string']);
      }
      const byType = Object.assign({}, ...events.map((event) => event.events));
      expect(Object.keys(byType).sort()).toEqual([
        `${base}/oauth/event-type/token-revoked`,
        `${base}/risc/event-type/account-disabled`,
        `${base}/risc/event-type/sessions-revoked`,
      ]);
      const subject = { subject_type: 'iss-sub', iss: server.origin, sub: bob.sub };
      expect(byType[`${base}/risc/event-type/sessions-revoked`].subject).toEqual(subject);
      expect(byType[`${base}/risc/event-type/account-disabled`].subject).toEqual(subject);
      const hash = createHash('sha512')
        .update(createHash('sha512').update(tokens.refresh_token).digest())
        .digest('base64');
      expect(byType[`${base}/oauth/event-type/token-revoked`].subject).toEqual({
        subject_type: 'oauth_token',
        token_type: 'refresh_token',
        token_identifier_alg: 'hash_base64_sha512_sha512',
        token: hash,
      });
    },
  );
  test('[OAS-11.3] another type or another user, or no subscription, causes no event', async () => {
    await subscribe(clients.withSecret);
    await subscribe(clients.desktop, [`${base}/risc/event-type/account-disabled`]);
    await revoke((await tokensFor(server)).refresh_token);
    await control(server, 'POST', '/users', { email: 'stranger@demo.example', password: 'p' });
    await control(server, 'POST', '/users/stranger@demo.example/disable', {});
    await settled();
    expect(got).toEqual([]);
    expect((await subscribe(clients.desktop, ['nope'])).status).toBe(400);
    expect(
      (
        await control(server, 'POST', '/events/subscriptions', {
          client: clients.desktop,
          receiver: 'ftp://x',
        })
      ).status,
    ).toBe(400);
    expect((await subscribe('nobody')).status).toBe(404);
  });
  test(
    '[OAS-11.5] a 400 is final; 5xx and a cut connection are tried again with the same jti; then it counts as failed',
    covers('spec/sign-in#choices-9'),
    async () => {
      await subscribe();
      answers.push(400);
      await revoke((await tokensFor(server)).refresh_token);
      await arrived(1);
      expect((await settled()).at(-1)).toMatchObject({
        state: 'refused',
        attempts: 1,
        last_status: 400,
        last_error: '{"err":"invalid_request"}',
      });
      got.length = 0;
      answers.push(503, 'hang');
      await revoke((await tokensFor(server)).refresh_token);
      await arrived(3);
      expect(new Set(got.map(({ body }) => claims(body).jti)).size).toBe(1);
      expect((await settled()).at(-1)).toMatchObject({ state: 'delivered', attempts: 3, last_status: 202 });
      got.length = 0;
      answers.push(500, 500, 500, 500);
      await revoke((await tokensFor(server)).refresh_token);
      await arrived(4);
      const failed = (await settled()).at(-1);
      expect(failed).toMatchObject({ state: 'failed', attempts: 4, last_status: 500 });
      await control(server, 'POST', `/events/deliveries/${failed.id}/resend`, {});
      await arrived(5);
      expect((await settled()).at(-1).state).toBe('delivered');
    },
  );
  test(
    '[OAS-11.6] the signature verifies with the published keys; the audience is the one client',
    covers('spec/sign-in#events-2', 'spec/sign-in#choices-9'),
    async () => {
      await subscribe();
      await revoke((await tokensFor(server)).refresh_token);
      const [first] = await arrived(1);
      const [head = '', body = '', signature = ''] = first?.body.split('.') ?? [];
      const { kid, alg, typ } = JSON.parse(Buffer.from(head, 'base64url').toString());
      expect([alg, typ]).toEqual(['RS256', 'secevent+jwt']);
      const jwk = (await raw(`${server.origin}/oauth2/certs`)).json.keys.find(
        (key: { kid: string }) => key.kid === kid,
      );
      const key = createPublicKey({ key: jwk, format: 'jwk' });
      expect(verify('sha256', Buffer.from(`${head}.${body}`), key, Buffer.from(signature, 'base64url'))).toBe(
        true,
      );
      expect(claims(first?.body ?? '').aud).toBe(clients.desktop);
    },
  );
  test('[OAS-11.7] the token is dead when its event arrives', async () => {
    await subscribe();
    const tokens = await tokensFor(server);
    probe = tokens.access_token;
    await revoke(tokens.refresh_token);
    const [first] = await arrived(1);
    expect(first?.tokenStatus).toBe(401);
  });
  test('other causes are also sent: a reused code, and the user in the console', async () => {
    await subscribe();
    await tokensFor(server, {}, ada);
    const grants = (await control(server, 'GET', `/grants?user=${ada.email}`)).json;
    const live = (
      await control(server, 'GET', `/tokens?user=${ada.email}&client=${clients.desktop}`)
    ).json.filter((one: { state: string }) => one.state === 'live');
    await control(
      server,
      'DELETE',
      `/grants/${grants.find((one: { client: string }) => one.client === clients.desktop).id}`,
    );
    await arrived(live.length);
    await tokensFor(server, {}, ada);
    got.length = 0;
    const [token] = (await control(server, 'GET', `/tokens?user=${ada.email}&client=${clients.desktop}`))
      .json;
    expect((await control(server, 'DELETE', `/tokens/${token.id}`)).status).toBe(204);
    await arrived(1);
  });
});
