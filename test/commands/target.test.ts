import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Logger } from '../../src/cli/command.ts';
import { makeReach } from '../../src/commands/target.ts';
import { loadSettings } from '../../src/config/load.ts';
import { AppError } from '../../src/core/problem.ts';
import { type RealHost, realHost } from '../support/real-host.ts';

let machine: RealHost;
let said: string[];
const begin = async (env: Record<string, string> = {}) => {
  machine = await realHost(env);
  return makeReach({ host: machine.host, settings: loadSettings(machine.host, {}), log: listening() });
};
const listening = (): Logger => ({
  info: (text) => said.push(text),
  warn: (text) => said.push(`warning: ${text}`),
  warnOnce: (_key, text) => said.push(text),
  debug: () => {},
  status: async () => ({ update: () => {}, stop: () => {} }),
  hide: (secret) => said.push(`hidden ${secret}`),
});
beforeEach(() => {
  said = [];
});
afterEach(() => machine.close());

const get = async (baseUrl: string, path: string, headers: Readonly<Record<string, string>>) =>
  (await machine.host.network.request({ method: 'GET', url: baseUrl + path, headers })).status;

describe('where a command finds its services', () => {
  it('is one embedded server for all of them when nothing is configured', async () => {
    const { reach, close } = await begin();
    const [tracker, labels, api] = await Promise.all([reach('tracker'), reach('labels'), reach('api')]);
    expect(new Set([tracker.baseUrl, labels.baseUrl, api.baseUrl]).size).toBe(1);
    expect([
      tracker.isMock,
      await get(tracker.baseUrl, '/api/v3/labels', tracker.headers),
      await get(labels.baseUrl, '/v2beta/labels', labels.headers),
    ]).toEqual([true, 200, 200]);
    expect(said).toEqual([expect.stringContaining('using the embedded mock server; its state is in ')]);
    await close();
    expect(
      await machine.host.network.canConnect('127.0.0.1', Number(new URL(tracker.baseUrl).port), 500),
    ).toBe(false);
  });

  it('lets the next command have the state when it is done', async () => {
    const first = await begin();
    await first.reach('tracker');
    await first.close();
    const second = makeReach({
      host: machine.host,
      settings: loadSettings(machine.host, {}),
      log: listening(),
    });
    expect((await second.reach('tracker')).isMock).toBe(true);
    await second.close();
  });

  it('is what the environment says, with the token in its header and hidden', async () => {
    const { reach, close } = await begin({
      OPSCTL_TRACKER_URL: 'https://tracker.example',
      OPSCTL_TRACKER_TOKEN: 'my-token',
      OPSCTL_TRACKER_TOKEN_HEADER: 'X-Own-Token',
      OPSCTL_LABELS_URL: 'https://labels.example',
      OPSCTL_LABELS_TOKEN: 'their-token',
    });
    expect(await reach('tracker')).toMatchObject({
      baseUrl: 'https://tracker.example',
      headers: { 'x-own-token': 'my-token' },
      isMock: false,
    });
    expect(await reach('labels')).toMatchObject({
      baseUrl: 'https://labels.example',
      headers: { authorization: 'Bearer their-token' },
      isMock: false,
    });
    expect(said).toEqual(['hidden my-token', 'hidden their-token']);
    await close();
  });

  it.each([
    ['a token without a URL', { OPSCTL_TRACKER_TOKEN: 'x' }],
    ['another profile without a URL', { OPSCTL_PROFILE: 'work' }],
    ['the mock turned off', { OPSCTL_MOCK: 'never' }],
    [
      'plain HTTP to another machine',
      { OPSCTL_TRACKER_URL: 'http://tracker.example', OPSCTL_TRACKER_TOKEN: 'x' },
    ],
  ])('is nowhere with %s, and no server is started', async (_name, env) => {
    const { reach, close } = await begin(env);
    const error = await reach('tracker').catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(AppError);
    expect((error as AppError).category).toBe('config');
    expect(said).toEqual([]);
    await close();
  });
});
