import fc from 'fast-check';
import { beforeAll, expect, test } from 'vitest';
import { type Field, bare } from '../../src/core/field.ts';
import { operations } from '../../src/core/operation.ts';
import { labelsService } from '../../src/api-specs/labels/labels.ts';
import { type LabelServer, directly, labelServer } from '../support/labels-server.ts';

let server: LabelServer;
beforeAll(async () => {
  server = await labelServer({ seed: 'demo' });
  await server.send('GET', '/labels');
});

/** Valid values mixed with invalid values, as a careless client sends them. */
const arbitraryOf = (outer: Field, depth: number): fc.Arbitrary<unknown> => {
  const field = bare(outer);
  const odd = fc.constantFrom<unknown>(
    null,
    7,
    -1,
    'x',
    '',
    true,
    [],
    {},
    [null],
    [[]],
    '__proto__',
    1e300,
    'deadbeef',
  );
  const right = (): fc.Arbitrary<unknown> => {
    if (field.type === 'array') return fc.array(arbitraryOf(field.items, depth - 1), { maxLength: 3 });
    if (field.type === 'boolean') return fc.boolean();
    if (field.type === 'integer' || field.type === 'number') return fc.integer({ min: -3, max: 12 });
    if (field.type === 'string')
      return field.enum
        ? fc.constantFrom(...field.enum)
        : fc.constantFrom('a', 'Title', '1', '*', 'title,description', 'labels/x', 'people/1');
    if (field.type !== 'object' || depth <= 0) return odd;
    const members = Object.fromEntries(
      Object.entries(field.fields).map(([name, member]) => [name, arbitraryOf(member, depth - 1)]),
    );
    return fc.record(members, { requiredKeys: [] });
  };
  return fc.oneof({ weight: 12, arbitrary: right() }, { weight: 1, arbitrary: odd });
};

test('the service responds to every random request, or rejects it with a complete error body', () => {
  const send = directly(server.env);
  const labels = send('GET', '/labels?pageSize=200').json.labels.map((l: { id: string }) => l.id);
  const rows = operations(labelsService.table).map(({ operation }) => operation);
  const request = fc.constantFrom(...rows).chain((operation) =>
    fc.record({
      operation: fc.constant(operation),
      id: fc.constantFrom(...labels, 'none', '@latest'),
      body: operation.body
        ? arbitraryOf({ type: 'object', fields: operation.body }, 5)
        : fc.constant(undefined),
      query: fc.constantFrom(
        '',
        '',
        '?useAdminAccess=true',
        '?pageSize=2',
        '?fields=name',
        '?fields=(',
        '?view=LABEL_VIEW_FULL',
      ),
    }),
  );
  fc.assert(
    fc.property(request, ({ operation, id, body, query }) => {
      const name = operation.path
        .replace(/\{name=users\/\*\/capabilities\}/, `users/${id}/capabilities`)
        .replace(/labels\/\*/, `labels/${id}`);
      const path = name.replace(/[{}]|name=|parent=/g, '').replaceAll('*', '1');
      const { status, json } = send(operation.method, path + query, body);
      expect([200, 400, 403, 404, 409]).toContain(status);
      if (status !== 200)
        expect(json.error).toMatchObject({
          code: status,
          status: expect.stringMatching(/^[A-Z_]+$/),
          message: expect.stringMatching(/./),
          details: expect.any(Array),
        });
    }),
    { numRuns: 1500 },
  );
});
