import { expect, test } from 'vitest';
import { multipart } from '../../src/api/send.ts';

test('the length that is announced is the length that is sent', async () => {
  const bytes = (async function* () {
    yield Buffer.from('12');
    yield Buffer.from('345');
  })();
  const file = { name: 'file', filename: 'a "b".txt', contentType: 'text/plain', sizeBytes: 5, bytes };
  const { body, lengthBytes, contentType } = multipart([{ name: 'é', value: 'ü' }, file], 'mark');
  const sent: Uint8Array[] = [];
  for await (const chunk of body) sent.push(chunk);
  expect(Buffer.concat(sent).toString()).toBe(
    '--opsctl-mark\r\nContent-Disposition: form-data; name="é"\r\n\r\nü\r\n' +
      '--opsctl-mark\r\nContent-Disposition: form-data; name="file"; filename="a %22b%22.txt"\r\nContent-Type: text/plain\r\n\r\n12345\r\n' +
      '--opsctl-mark--\r\n',
  );
  expect(lengthBytes).toBe(Buffer.concat(sent).length);
  expect(contentType).toBe('multipart/form-data; boundary=opsctl-mark');
});

test('every length of a part counts, in bytes', () => {
  const lengthOf = (parts: Parameters<typeof multipart>[0]) => multipart(parts, 'm').lengthBytes;
  const end = '--opsctl-m--\r\n'.length;
  const head = '--opsctl-m\r\nContent-Disposition: form-data; name="a"\r\n\r\n'.length;
  expect(lengthOf([])).toBe(end);
  expect(lengthOf([{ name: 'a', value: 'ü' }])).toBe(head + 2 + 2 + end);
});
