import { expect, test } from 'vitest';
import { faultyAnswer } from '../../src/mock-server/faults.ts';
import { failureBody } from '../../src/mock-server/body.ts';
import { labelServer } from '../support/labels-server.ts';
import { covers } from '../support/covers.ts';

test(
  'the label service has the error body of spec/labels#errors, the others a message',
  covers('spec/program#choices-4'),
  () => {
    expect(JSON.parse(failureBody('/v2beta/labels', 503, 'down'))).toEqual({
      error: { code: 503, message: 'down', status: 'UNAVAILABLE', details: [] },
    });
    expect(JSON.parse(failureBody('/v2betas', 503, 'down'))).toEqual({ message: 'down' });
    const { status, body } = faultyAnswer(
      { id: '1', status: 429 } as never,
      undefined,
      '/v2beta/labels/x:publish',
    );
    expect([status, JSON.parse(String(body)).error.status]).toEqual([429, 'RESOURCE_EXHAUSTED']);
  },
);

test('a body that is too large for the label service is refused in its own words', async () => {
  const server = await labelServer();
  try {
    const reply = await server.send(
      'POST',
      '/labels',
      JSON.stringify({ properties: { title: 'x'.repeat(20_000_000) } }),
    );
    expect([reply.status, reply.json.error.code]).toEqual([413, 413]);
  } finally {
    await server.close();
  }
});
