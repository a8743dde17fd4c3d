import { readFileSync, readdirSync } from 'node:fs';
import { expect, test } from 'vitest';
import { type Bound, casesFrom, differences, filled } from '../support/exchanges.ts';
import { labelServer } from '../support/labels-server.ts';

const directory = new URL('./labels-exchanges/', import.meta.url);
const files = readdirSync(directory).sort();
const all = files.map((file) => ({ file, cases: casesFrom(readFileSync(new URL(file, directory), 'utf8')) }));

// source: harness
test('there are at least 150 literal exchanges', () => {
  const count = all.flatMap(({ cases }) => cases.flatMap((c) => c.exchanges)).length;
  expect(count).toBeGreaterThanOrEqual(150);
});

for (const { file, cases } of all) {
  for (const { title, options, exchanges } of cases) {
    test(`${file}: ${title}`, async () => {
      const server = await labelServer(options as Parameters<typeof labelServer>[0]);
      const bound: Bound = new Map();
      try {
        for (const exchange of exchanges) {
          const { method, path, body, headers, status, expected } = exchange;
          const reply = await server.send(
            method,
            filled(path, bound),
            body === undefined ? undefined : filled(body, bound),
            headers,
          );
          const at = `${file}:${exchange.line} ${method} ${filled(path, bound)}`;
          expect({
            at,
            status: reply.status,
            ...(reply.status === status ? {} : { text: reply.text }),
          }).toEqual({ at, status });
          expect({ at, wrong: differences(reply.json, expected ?? {}, bound) }).toEqual({ at, wrong: [] });
        }
      } finally {
        await server.close();
      }
    });
  }
}
