/** What the sign-in server asks of others: the limits of its requests, and the pauses between its attempts. */
import { beforeEach, describe, expect, it } from 'vitest';
import { readParams } from '../../../src/mock-server/oauth/errors.ts';
import type { Signer } from '../../../src/mock-server/oauth/keys.ts';
import { tokenExchange } from '../../../src/mock-server/oauth/machine-grants.ts';
import { deliver } from '../../../src/mock-server/oauth/security-events.ts';
import type { TokenCall } from '../../../src/mock-server/oauth/rules/rule.ts';
import { makeAuth } from '../../../src/mock-server/oauth/service.ts';
import { type Auth, authState, type Delivery } from '../../../src/mock-server/oauth/state.ts';
import { defaultOptions, makeEnvironment } from '../../../src/mock-server/service-set.ts';
import { Store } from '../../../src/mock-server/store.ts';
import { NetworkError } from '../../../src/platform/host.ts';
import { partlyMade } from '../../support/context.ts';
import { covers } from '../../support/covers.ts';
import { fakeHost, type ScriptedReply } from '../../support/fake-host.ts';
import { pause } from '../../support/slow-host.ts';

let steps: string[];
const open = (replies: readonly (ScriptedReply | Error)[]) => {
  steps = [];
  let count = 0;
  const base = fakeHost({
    reply: ({ method, url, timeoutMs, maxReplyBytes }) => {
      steps.push(`${method} ${url} ${timeoutMs} ${maxReplyBytes}`);
      const reply = replies[count++] ?? {};
      if (reply instanceof Error) throw reply;
      return reply;
    },
  });
  const sleep = async (ms: number, signal?: AbortSignal): Promise<void> => {
    steps.push(`sleep ${ms}`);
    await pause(10);
    await base.sleep(ms, signal);
    steps.push(`slept ${ms}`);
  };
  const made = makeEnvironment({ ...base, sleep }, new Store(), defaultOptions, 'seed');
  made.listensAt('http://127.0.0.1:1');
  made.env.store.transact(() => makeAuth(made.env).seed('demo'));
  return { auth: authState(made.env), settle: made.settle };
};

describe('the keys of an issuer', () => {
  const issuer = 'https://ci.example';
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  const text = `${part({ alg: 'RS256' })}.${part({ iss: issuer, aud: 'a', sub: 'repo:x' })}.c2ln`;
  const ask = (auth: Auth) => {
    const trust = { id: 't', issuer, audience: 'a', subject: 'repo:*', user: 'u', scopes: [], jwks: null };
    auth.env.store.transact(() => auth.trusts.put('t', { ...trust, created_at: 0 }));
    const fields = { subject_token: text, subject_token_type: 'urn:ietf:params:oauth:token-type:jwt' };
    const params = readParams(new URLSearchParams(fields).toString());
    const call = partlyMade<TokenCall>({ params, request: { headers: {} } });
    return tokenExchange({ ...call, auth }, {} as Signer);
  };
  const metadata = `GET ${issuer}/.well-known/openid-configuration 5000 262144`;
  it('are read after its metadata, each within five seconds', async () => {
    const { auth } = open([{ body: { issuer, jwks_uri: `${issuer}/keys` } }, { body: { keys: [] } }]);
    await expect(ask(auth)).rejects.toMatchObject({ code: 'invalid_grant' });
    expect(steps).toEqual([metadata, `GET ${issuer}/keys 5000 262144`]);
  });
  it.each<readonly [string, readonly (ScriptedReply | Error)[]]>([
    ['its metadata is missing', [{ status: 404 }]],
    ['it does not respond', [new NetworkError('TIMEOUT', 'no response', true)]],
    ['its metadata names another issuer', [{ body: { issuer: 'https://other.example', jwks_uri: 'x' } }]],
    ['its keys are not JSON', [{ body: { issuer, jwks_uri: `${issuer}/keys` } }, { body: 'no' }]],
  ])('cannot be read if %s, which is not a fault of the token', async (_, replies) => {
    await expect(ask(open(replies).auth)).rejects.toMatchObject({ code: 'invalid_request' });
    expect(steps[0]).toBe(metadata);
  });
});

describe('a security event', () => {
  const url = 'https://receiver.example/in';
  const send = `POST ${url} 5000 65536`;
  let put: (auth: Auth) => Promise<unknown>;
  beforeEach(() => {
    put = (auth) => {
      const delivery: Delivery = {
        state: 'pending',
        ...{ id: 'd', url, body: 'jwt', client: 'c', type: 't', attempts: 0 },
        ...{ subscription: 's', last_status: null, last_error: null, created_at: 0, done_at: null },
      };
      auth.env.store.transact(() => auth.deliveries.put('d', delivery));
      return deliver(auth, 'd').then(() => auth.deliveries.get('d'));
    };
  });
  it('is sent again after each pause until it is accepted', covers('spec/sign-in#choices-9'), async () => {
    const { auth } = open([
      { status: 503, body: 'busy' },
      new NetworkError('RESET', 'gone', true),
      { status: 202 },
    ]);
    expect(await put(auth)).toMatchObject({ state: 'delivered', attempts: 3, last_status: 202 });
    const pauses = steps.filter((step) => step.startsWith('sleep')).map((step) => Number(step.split(' ')[1]));
    expect(steps).toEqual([
      ...[send, `sleep ${pauses[0]}`, `slept ${pauses[0]}`],
      ...[send, `sleep ${pauses[1]}`, `slept ${pauses[1]}`, send],
    ]);
    const { event_backoff_ms: first } = auth.settings();
    expect(pauses.filter((_, i) => i < 2)).toEqual([first, 2 * first]);
  });
  it('is not sent again by a server that stops, and stays pending for the next server', async () => {
    const { auth, settle } = open([{ status: 503 }, { status: 202 }]);
    const ended = put(auth);
    await expect
      .poll(
        async () => {
          await pause();
          return !steps.includes('sleep 500');
        },
        { interval: 1 },
      )
      .toBe(false);
    await settle();
    expect(await ended).toMatchObject({ state: 'pending', attempts: 1, done_at: null });
    expect(steps).toEqual([send, 'sleep 500']);
  });
  it('is sent once if it is refused, and its response is noted', async () => {
    const { auth } = open([{ status: 400, body: 'no' }]);
    expect(await put(auth)).toMatchObject({
      state: 'refused',
      attempts: 1,
      last_status: 400,
      last_error: 'no',
    });
    expect(steps).toEqual([send]);
  });
});
