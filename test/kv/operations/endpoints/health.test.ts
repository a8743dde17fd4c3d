import { expect, it } from 'vitest';
import { AppError } from '../../../../src/core/problem.ts';
import { type Endpoint, proposalText, propose } from '../../../../src/kv/operations/endpoints.ts';
import { partlyMade } from '../../../support/context.ts';
import { covers } from '../../../support/covers.ts';
import { pause } from '../../../support/slow-host.ts';

const host = { elapsed: () => 0 };
const endpoint = (range: () => Promise<unknown>, is_healthy = true): Endpoint =>
  partlyMade<Endpoint>({
    endpoint: '127.0.0.1:1',
    store: { row: async () => ({}), range, health: async () => ({ is_healthy, status: 200 }) },
  });
const refused = async (): Promise<never> => {
  throw new AppError('auth', 'user name is empty', {});
};

it('reports a committed proposal only if one was committed', covers('spec/store#interfaces-4'), async () => {
  expect(
    proposalText([
      await propose(
        host,
        endpoint(async () => ({})),
      ),
    ]),
  ).toMatch(/^127\.0\.0\.1:1 is healthy: successfully committed proposal: took = /);
});
it(
  'reports that /health is true and that no proposal was made without a user',
  covers('spec/store#interfaces-4', 'spec/store#measured-answers-4'),
  async () => {
    const found = await propose(host, endpoint(refused));
    expect(found).toMatchObject({ health: true, is_proposed: false });
    expect(proposalText([found])).toBe('127.0.0.1:1 is healthy: /health is true; no proposal without a user');
  },
);
it('reports an unhealthy endpoint if /health is false as well', async () => {
  const found = await propose(host, endpoint(refused, false));
  expect(found).toMatchObject({ health: false });
  expect(proposalText([found])).toContain('is unhealthy: failed to commit proposal');
});
it('measures the proposal only, after the version of the member is known', async () => {
  let now = 0;
  const row = async () => {
    await pause();
    now += 5000;
    return {};
  };
  const range = async () => {
    now += 20;
    return {};
  };
  const slow = partlyMade<Endpoint>({ endpoint: 'a', store: { row, range } });
  expect(await propose({ elapsed: () => now }, slow)).toEqual({ endpoint: 'a', health: true, took: '20ms' });
});
it('reports an endpoint whose version cannot be read', async () => {
  const row = async () => {
    throw new AppError('network', 'connection refused', {});
  };
  const gone = partlyMade<Endpoint>({ endpoint: 'a', store: { row, range: async () => ({}) } });
  expect(await propose(host, gone)).toMatchObject({ health: false, error: 'connection refused' });
});
