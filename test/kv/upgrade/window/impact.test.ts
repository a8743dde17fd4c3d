import { describe, expect, it } from 'vitest';
import { limits } from '../../../../src/core/limits.ts';
import { askImpact, impactOf, refuseUnusableProbes } from '../../../../src/kv/upgrade/window/window.ts';
import type { Finished } from '../../../../src/platform/host.ts';
import { fakeHost } from '../../../support/fake-host.ts';
import { covers } from '../../../support/covers.ts';
import { naming } from '../../../support/facts.ts';

const byCommand = async (done: Partial<Finished>) => {
  const host = fakeHost({ run: () => done });
  return { host, impact: await askImpact(host, { kind: 'command', command: 'probe --all' }) };
};

describe('a command that checks for user impact', () => {
  it('the command is run by a shell, for half a minute', async () => {
    const { host } = await byCommand({ code: 1 });
    expect(host.ran).toMatchObject([
      { command: '/bin/sh', args: ['-c', 'probe --all'], options: { timeoutMs: 30_000 } },
    ]);
  });
  it.each<[Partial<Finished>, string, string]>([
    [{ code: 0 }, 'yes', naming('command', 'reports')],
    [{ code: 0, stdout: 'a\n2 alerts\n', stderr: 'x' }, 'yes', naming('2 alerts')],
    [{ code: 0, stderr: 'slow\n' }, 'yes', naming('slow')],
    [{ code: 1 }, 'no', naming('exit', 'code 1')],
    [{ code: 1, stdout: 'quiet' }, 'no', naming('exit', 'code 1', 'quiet')],
    [{ code: 2, stderr: 'bad flag' }, 'unknown', naming('2', 'bad flag', 'failed')],
    [{ code: null, signal: 'SIGKILL' }, 'unknown', naming('command', 'SIGKILL', 'failed')],
    [{ code: null }, 'unknown', naming('command', 'failed')],
    [{ code: null, startError: 'ENOENT' }, 'unknown', naming('command', 'ENOENT', 'failed')],
    [{ code: 0, timedOut: true }, 'unknown', naming('command', '30')],
  ])('%j', async (done, state, reason) => {
    expect((await byCommand(done)).impact).toMatchObject({ state, reason });
  });
});

const vector = (...metrics: readonly (object | undefined)[]): string =>
  JSON.stringify({
    ...{ status: 'success' },
    data: { resultType: 'vector', result: metrics.map((metric) => ({ metric, value: [0, '0'] })) },
  });
const answered = (data: object | undefined): string => JSON.stringify({ status: 'success', data });

const startWith = (done: Partial<Finished>): Promise<unknown> =>
  refuseUnusableProbes(fakeHost({ run: () => done }), [{ kind: 'command', command: 'probe' }]);
describe('a probe at the start of a run', () => {
  it.each([
    { code: null, startError: 'ENOENT' },
    { code: 126, stderr: 'sh: 1: ./probe: Permission denied' },
    { code: 127, stderr: 'sh: 1: probe: not found' },
  ])('a command that cannot be executed is rejected: %j', async (done) => {
    await expect(startWith(done)).rejects.toMatchObject({
      category: 'usage',
      detail: { problems: [{ path: '--pause-while-command' }] },
    });
  });
  // A script may fail for a moment, and the run then pauses.
  it.each([{ code: 0 }, { code: 1 }, { code: 2 }, { code: 0, timedOut: true }])(
    'a command that was executed is accepted: %j',
    async (done) => {
      expect(await startWith(done)).toBeUndefined();
    },
  );
  it.each([
    [400, '{"status":"error","error":"parse error"}', true],
    [404, 'not found', true],
    [200, '<html>', true],
    [503, 'starting', false],
    [429, 'slow down', false],
    [422, '{"status":"error","errorType":"execution","error":"too many samples"}', false],
    [200, '{"status":"success","data":{"resultType":"vector","result":[]}}', false],
  ])('a query with the response %i %s is rejected: %j', async (status, body, isRejected) => {
    const host = fakeHost({ reply: () => ({ status, body }) });
    const started = refuseUnusableProbes(host, [{ kind: 'query', query: 'up', prometheus: 'http://p:9090' }]);
    if (isRejected)
      await expect(started).rejects.toMatchObject({
        detail: { problems: [{ path: '--pause-while-query' }] },
      });
    else expect(await started).toBeUndefined();
  });
});

describe('the response of a query', () => {
  it.each([
    ['nothing', vector(), 'no', 'no sample'],
    ['an alert', vector({ alertname: 'Slow', job: 'a' }), 'yes', 'a sample: Slow'],
    ['labels', vector({ job: 'a', zone: 'b' }), 'yes', 'a sample: job=a,zone=b'],
    ['no labels', vector(undefined), 'yes', 'a sample: '],
    ['two', vector({ alertname: 'A' }, { alertname: 'B' }), 'yes', '2 samples: A; B'],
    [
      ...[
        'three',
        vector(...['A', 'B', 'C'].map((alertname) => ({ alertname }))),
        'yes',
        '3 samples: A; B; C',
      ],
    ],
    [
      ...['five', vector(...[...'ABCDE'].map((alertname) => ({ alertname }))), 'yes'],
      '5 samples: A; B; C and 2 more',
    ],
    ['zero', answered({ resultType: 'scalar', result: [5, '0'] }), 'no', '0'],
    ['zero, in full', answered({ resultType: 'scalar', result: [5, '0.00'] }), 'no', '0'],
    ['a number', answered({ resultType: 'scalar', result: [0, '0.5'] }), 'yes', '0.5'],
    [
      'a matrix',
      answered({ resultType: 'matrix' }),
      'unknown',
      naming('matrix', 'vector', 'scalar', 'returns'),
    ],
    ['no type', answered(undefined), 'unknown', naming('no type', 'vector', 'scalar', 'returns')],
    ['no list', answered({ resultType: 'vector', result: {} }), 'unknown', naming('vector', 'returns')],
    ['no value', answered({ resultType: 'scalar', result: 7 }), 'unknown', naming('scalar', 'returns')],
    ['no JSON', '<html>', 'unknown', naming('503', 'JSON', 'Prometheus', 'response')],
    ['an error', '{"status":"error","error":"parse"}', 'unknown', naming('503', 'parse', 'failed')],
    ['no reason', '{}', 'unknown', naming('503', 'no reason', 'failed')],
  ] as [string, string, string, string][])('%s', (_, text, state, reason) => {
    expect(impactOf(503, text)).toEqual({ state, reason });
  });
});

describe('a query', () => {
  const probe = { kind: 'query', query: 'up == 0', prometheus: 'http://p:9090/base//' } as const;
  it(
    'a query is sent as a form to the server, which has half a minute and a MiB',
    covers('limit/metricReplyBytes'),
    async () => {
      const host = fakeHost({
        reply: () => ({ body: { status: 'success', data: { resultType: 'vector', result: [] } } }),
      });
      expect(await askImpact(host, probe)).toEqual({ state: 'no', reason: 'no sample' });
      expect(host.requests).toMatchObject([
        {
          ...{
            method: 'POST',
            url: 'http://p:9090/base/api/v1/query',
            timeoutMs: 30_000,
            maxReplyBytes: limits.metricReplyBytes,
          },
          headers: { 'content-type': 'application/x-www-form-urlencoded', accept: 'application/json' },
          body: 'query=up+%3D%3D+0&timeout=20s',
        },
      ]);
    },
  );
  it('a query to an unresponsive server is undecided', async () => {
    const host = fakeHost({
      reply: () => {
        throw new Error('connection refused');
      },
    });
    expect(await askImpact(host, probe)).toEqual({
      ...{ state: 'unknown', reason: 'p:9090 does not respond: connection refused' },
    });
  });
});
