import { expect, test } from 'vitest';
import { type LabelServer, labelServer } from '../../support/labels-server.ts';
import { covers } from '../../support/covers.ts';

let server: LabelServer;
const make = () => server.send('POST', '/labels', { labelType: 'SHARED', properties: { title: 'T' } });

test(
  'reads and writes over the quota are 429 with the whole error body, counted separately',
  covers('spec/labels#errors-5', 'spec/labels#limits-3'),
  async () => {
    server = await labelServer({ labelsQuota: { reads: 2, writes: 1 }, rateRetryAfter: true });
    expect((await make()).status).toBe(200);
    const refused = await make();
    expect(refused.status).toBe(429);
    expect(refused.json.error).toMatchObject({
      code: 429,
      status: 'RESOURCE_EXHAUSTED',
      message: "Quota exceeded for quota metric 'Write requests per minute: 1' of the label service.",
      details: [{ reason: 'RATE_LIMIT_EXCEEDED' }],
    });
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    expect((await server.send('GET', '/labels')).json.labels).toHaveLength(1);
    expect((await server.send('GET', '/limits/label')).status).toBe(200);
    expect((await server.send('GET', '/limits/label')).json.error).toMatchObject({
      code: 429,
      message: expect.stringContaining('Read requests per minute: 2'),
    });
  },
);

test('without the option there is no limit, and Retry-After is sent only on request', async () => {
  server = await labelServer({ labelsQuota: { reads: 1, writes: 1 } });
  await make();
  expect((await make()).headers.get('retry-after')).toBeNull();
  await server.close();
  server = await labelServer();
  for (let i = 0; i < 5; i += 1) expect((await make()).status).toBe(200);
});

test(
  'an organization may be held to a number of labels; a deleted one makes place',
  covers('spec/labels#limits-3'),
  async () => {
    server = await labelServer({ labelsAtMost: 2 });
    const first = (await make()).json.id;
    await make();
    expect((await make()).json.error).toMatchObject({
      code: 400,
      status: 'INVALID_ARGUMENT',
      message: expect.stringContaining('at most 2 labels'),
    });
    await server.send('DELETE', `/labels/${first}`);
    expect((await make()).status).toBe(200);
  },
);
