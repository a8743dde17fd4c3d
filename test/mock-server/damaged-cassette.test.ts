import { expect, test } from 'vitest';
import { readCassette } from '../../src/mock-server/cassette/cassette.ts';
import { fakeHost } from '../support/fake-host.ts';
import { naming } from '../support/facts.ts';

const request = { method: 'GET', path: '/', query: '', headers: {} };
const read = (exchange: unknown) => {
  const head = '{"opsctl_cassette":1,"upstream":"http://a"}';
  const { files } = fakeHost({ files: { '/c': `${head}\n${JSON.stringify(exchange)}\n` } });
  return readCassette(files, '/c');
};

test.each([{}, { text: 5 }, { base64: null }, [], 'x'])('a body that cannot be played: %j', async (body) => {
  await expect(read({ request, response: { status: 200, headers: {}, body } })).rejects.toMatchObject({
    category: 'usage',
    message: naming('/c', '2'),
  });
});
test.each([undefined, { text: '' }, { json: null }, { base64: 'AA==' }])(
  'a body that can: %j',
  async (body) => {
    expect((await read({ request, response: { status: 200, headers: {}, body } })).exchanges).toHaveLength(1);
  },
);
