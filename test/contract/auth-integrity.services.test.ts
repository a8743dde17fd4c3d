import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type AuthServer, authServer, clients, control, refresh, tokensFor } from '../support/auth-server.ts';
import { covers } from '../support/covers.ts';

const MINUTE = 60_000;
let server: AuthServer;
let id = '';
let token = '';
beforeAll(async () => {
  server = await authServer();
});
beforeEach(async () => {
  id = (
    await control(server, 'POST', '/clients', {
      type: 'mobile-b',
      name: 'B',
      bundle_id: 'com.example.b',
      team_id: 'ABCDE12345',
    })
  ).json.id;
  token = (await tokensFor(server, { client_id: id, redirect_uri: 'com.example.b:/cb' })).refresh_token;
});
const turn = (verb: string) => control(server, 'POST', `/clients/${id}/integrity/${verb}`, {});
const check = async () => (await control(server, 'GET', `/clients/${id}/integrity`)).json;
const genuine = async () => (await turn('token')).json.integrity_token as string;
/** Sends one request to the token endpoint as the app does. */
const asApp = (fields: Record<string, string> = {}) => refresh(server, token, { client_id: id, ...fields });

describe('transitions of the integrity check', () => {
  test(
    '[OAS-10.1] [OAS-10.2] enable without team ID, or with * in the bundle identifier',
    covers('spec/sign-in#states-6'),
    async () => {
      const bare = (
        await control(server, 'POST', '/clients', { type: 'mobile-b', name: 'B', bundle_id: 'com.example.x' })
      ).json.id;
      const star = (
        await control(server, 'POST', '/clients', {
          type: 'mobile-b',
          name: 'B',
          bundle_id: 'com.example.*',
          team_id: 'ABCDE12345',
        })
      ).json.id;
      for (const [client, field] of [
        [bare, 'team_id'],
        [star, 'bundle_id'],
      ]) {
        const reply = await control(server, 'POST', `/clients/${client}/integrity/enable`, {});
        expect([reply.status, Object.keys(reply.json.errors)]).toEqual([409, [field]]);
      }
      const atCreation = await control(server, 'POST', '/clients', {
        type: 'mobile-b',
        name: 'B',
        bundle_id: 'com.example.x',
        integrity_check: true,
      });
      expect([atCreation.status, Object.keys(atCreation.json.errors)]).toEqual([409, ['team_id']]);
    },
  );
  test(
    '[OAS-10.3] enable: monitoring only, in effect after the delay',
    covers('spec/sign-in#states-6'),
    async () => {
      expect((await turn('enable')).json).toMatchObject({ state: 'monitoring', effective_state: 'disabled' });
      await asApp();
      expect((await check()).metrics.unverified_unknown_origin).toBe(0);
      server.advance(15 * MINUTE);
      expect((await check()).effective_state).toBe('monitoring');
      await asApp();
      expect((await check()).metrics.unverified_unknown_origin).toBe(1);
    },
  );
  test(
    '[OAS-10.6] enforce and unenforce while disabled are refused',
    covers('spec/sign-in#states-6'),
    async () => {
      for (const verb of ['enforce', 'unenforce']) expect((await turn(verb)).status).toBe(409);
    },
  );
  test('[OAS-10.11] toggles in quick succession: the last one wins', async () => {
    await turn('enable');
    server.advance(15 * MINUTE);
    for (const verb of ['enforce', 'unenforce', 'enforce']) expect((await turn(verb)).status).toBe(200);
    expect((await asApp()).status).toBe(200);
    server.advance(15 * MINUTE);
    expect(await check()).toMatchObject({ state: 'enforced', effective_state: 'enforced' });
    expect((await asApp()).status).toBe(400);
  });
  test('[OAS-10.12] the team ID stays while the check is on', async () => {
    await turn('enable');
    const refused = await control(server, 'PATCH', `/clients/${id}`, { team_id: '' });
    expect([refused.status, Object.keys(refused.json.errors)]).toEqual([409, ['team_id']]);
    await turn('disable');
    expect((await control(server, 'PATCH', `/clients/${id}`, { team_id: '' })).json.team_id).toBeNull();
  });
  test.each(['desktop', 'mobileA', 'universal', 'extension'] as const)(
    '[OAS-10.13] %s clients have no integrity check',
    async (type) => {
      expect((await control(server, 'POST', `/clients/${clients[type]}/integrity/enable`, {})).status).toBe(
        409,
      );
      expect((await control(server, 'GET', `/clients/${clients[type]}/integrity`)).status).toBe(409);
    },
  );
});

describe('effects of the integrity check on requests', () => {
  test(
    '[OAS-10.4] [OAS-10.5] monitoring: all pass, the four categories count',
    covers('spec/sign-in#authentication-7'),
    async () => {
      await turn('enable');
      server.advance(15 * MINUTE);
      const { post } = await import('../support/auth-server.ts');
      const fields = { client_id: id, grant_type: 'refresh_token', refresh_token: token };
      const replies = [
        await asApp({ integrity_token: await genuine() }),
        await post(`${server.origin}/token`, fields, { 'x-integrity-token': await genuine() }),
        await post(`${server.origin}/token`, fields, { 'user-agent': 'com.example.b/1.2 CFNetwork' }),
        await asApp(),
        await asApp({ integrity_token: 'it1.1.bad.bad' }),
        await asApp({ integrity_token: 'rubbish' }),
      ];
      expect(replies.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200, 200]);
      expect((await check()).metrics).toEqual({
        verified: 2,
        unverified_outdated_client: 1,
        unverified_unknown_origin: 1,
        unverified_invalid: 2,
      });
    },
  );
  test(
    '[OAS-10.7] [OAS-10.8] [OAS-10.14] enforced: rejected exactly after the delay, as unauthorized_client; a genuine app passes',
    covers('spec/sign-in#choices-5'),
    async () => {
      await turn('enable');
      server.advance(15 * MINUTE);
      await turn('enforce');
      server.advance(15 * MINUTE - 1000);
      expect((await asApp()).status).toBe(200);
      server.advance(1000);
      const missing = await asApp();
      expect([missing.status, missing.json.error, missing.json.error_description]).toEqual([
        400,
        'unauthorized_client',
        expect.stringContaining('missing'),
      ]);
      expect((await asApp({ integrity_token: 'rubbish' })).json.error_description).toContain('invalid');
      expect((await asApp({ integrity_token: await genuine() })).status).toBe(200);
      const old = await genuine();
      server.advance(61 * MINUTE);
      expect((await asApp({ integrity_token: old })).status).toBe(400);
    },
  );
  test('an integrity token of another client is invalid', async () => {
    await turn('enable');
    server.advance(15 * MINUTE);
    const foreign = (await control(server, 'POST', `/clients/${clients.mobileB}/integrity/token`, {})).json
      .integrity_token;
    await asApp({ integrity_token: foreign });
    expect((await check()).metrics.unverified_invalid).toBe(1);
  });
  test(
    '[OAS-10.9] unenforce: all pass again after the delay, still monitored',
    covers('spec/sign-in#states-6'),
    async () => {
      for (const verb of ['enable', 'enforce', 'unenforce']) {
        await turn(verb);
        if (verb !== 'unenforce') server.advance(15 * MINUTE);
      }
      expect((await asApp()).status).toBe(400);
      server.advance(15 * MINUTE);
      expect((await asApp()).status).toBe(200);
      expect(await check()).toMatchObject({
        state: 'monitoring',
        effective_state: 'monitoring',
        metrics: { unverified_unknown_origin: 2 },
      });
    },
  );
  test.each([['monitoring'], ['enforced']])(
    '[OAS-10.10] disable from %s: both stop after the delay',
    async (from) => {
      await turn('enable');
      server.advance(15 * MINUTE);
      if (from === 'enforced') await turn('enforce');
      server.advance(15 * MINUTE);
      expect((await turn('disable')).json).toMatchObject({ state: 'disabled', effective_state: from });
      expect((await asApp()).status).toBe(from === 'enforced' ? 400 : 200);
      server.advance(15 * MINUTE);
      const before = (await check()).metrics;
      expect((await asApp()).status).toBe(200);
      expect((await check()).metrics).toEqual(before);
    },
  );
  test('the delay is a setting, at most 15 minutes', covers('spec/sign-in#limits-4'), async () => {
    expect((await control(server, 'PATCH', '/settings', { integrity_delay_seconds: 901 })).status).toBe(400);
    await control(server, 'PATCH', '/settings', { integrity_delay_seconds: 0 });
    await turn('enable');
    await turn('enforce');
    expect((await asApp()).status).toBe(400);
    await control(server, 'PATCH', '/settings', { integrity_delay_seconds: 900 });
  });
});
