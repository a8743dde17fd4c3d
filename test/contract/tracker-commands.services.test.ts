import { afterAll, beforeAll, expect, test } from 'vitest';
import { commands } from '../../src/commands/tracker/commands.ts';
import { bare } from '../../src/core/field.ts';
import { operations } from '../../src/core/operation.ts';
import { entryOf, entryText } from '../../src/reference/entry.ts';
import { tracker } from '../../src/api-specs/tracker/index.ts';
import { documents as served } from '../../src/commands/mock/start.ts';
import { defaultOptions } from '../../src/mock-server/service-set.ts';
import { type RunningMock, startMock } from '../../src/mock-server/server.ts';
import { Store } from '../../src/mock-server/store.ts';
import { type RealHost, realHost } from '../support/real-host.ts';

const rows = operations(tracker.table).filter(({ operation }) => !operation.extension);
const cases = rows.map((row) => [`${row.operation.method} ${row.operation.path}`, row] as const);
const documents = ['openapi.json', 'swagger.json'] as const;

let machine: RealHost;
let mock: RunningMock;
const parsed: Record<string, any> = {};
beforeAll(async () => {
  machine = await realHost();
  const { host } = machine;
  const failed = (error: unknown) => {
    throw error;
  };
  mock = await startMock({
    host,
    options: defaultOptions,
    services: [],
    documents: served,
    store: new Store(),
    seed: 'empty',
    port: 0,
    onFailure: failed,
  });
  for (const name of documents) parsed[name] = await (await fetch(`${mock.origin}/${name}`)).json();
});
afterAll(async () => {
  await mock.close();
});

test.each(cases)(
  '%s has a command with an argument for each parameter of its path',
  (name, { operation }) => {
    const command = commands.find(
      (one) => one.operation && `${one.operation.operation.method} ${one.operation.operation.path}` === name,
    );
    expect(command, name).toBeDefined();
    expect(command?.path.slice(0, 1)).toEqual(['tracker']);
    expect(command?.summary).not.toBe('');
    expect(command?.args?.length ?? 0).toBeGreaterThanOrEqual(Object.keys(operation.params ?? {}).length);
  },
);

test.each(cases)('%s has a reference entry that names all its fields', (_, { resource, verb, operation }) => {
  const text = entryText(entryOf(tracker, ['tracker', resource.replaceAll('_', '-'), verb], operation));
  expect(text).toContain(`${operation.method} /api/v3${operation.path}`);
  for (const name of Object.keys({ ...operation.params, ...operation.query, ...operation.body }))
    expect(text).toContain(name);
});

const namesIn = (entry: any, where: string): string[] =>
  (entry.parameters ?? [])
    .flatMap((one: { in: string; name: string }) => (one.in === where ? [one.name] : []))
    .sort();
const resolve = (document: any, ref: string): any =>
  ref
    .slice(2)
    .split('/')
    .reduce((at, key) => at?.[key.replaceAll('~1', '/').replaceAll('~0', '~')], document);
const bodyNames = (document: any, entry: any): string[] => {
  const inBody = entry.parameters?.find((one: { in: string }) => one.in === 'body')?.schema;
  const content: any = Object.values(entry.requestBody?.content ?? {})[0];
  const schema = inBody ?? content?.schema;
  const whole = schema?.$ref ? resolve(document, schema.$ref) : schema;
  return whole ? Object.keys(whole.properties ?? {}).sort() : namesIn(entry, 'formData');
};
const given = (fields: object | undefined): string[] =>
  Object.entries(fields ?? {})
    .filter(([, field]) => !(field.readOnly && bare(field).type !== 'file'))
    .map(([name]) => name)
    .sort();

test.each(cases)('%s is in both served documents with all its parameters', (_, { operation }) => {
  for (const name of documents) {
    const entry = parsed[name].paths[operation.path]?.[operation.method.toLowerCase()];
    expect(entry, name).toBeDefined();
    expect(namesIn(entry, 'path'), name).toEqual(given(operation.params));
    expect(namesIn(entry, 'query'), name).toEqual(given(operation.query));
    if (operation.body) expect(bodyNames(parsed[name], entry), name).toEqual(given(operation.body));
    expect(Object.keys(entry.responses), name).toContain(String(operation.ok));
    expect(entry.deprecated ?? false, name).toBe(operation.deprecated !== undefined);
  }
});

const refs = (value: unknown): string[] => {
  if (typeof value !== 'object' || value === null) return [];
  const own = (value as { $ref?: unknown }).$ref;
  return [...(typeof own === 'string' ? [own] : []), ...Object.values(value).flatMap(refs)];
};
const entriesOf = (document: any): [string, any][] =>
  Object.entries<any>(document.paths).flatMap(([path, verbs]) =>
    Object.values(verbs).map((entry): [string, any] => [path, entry]),
  );

test.each(documents)('%s holds together: parameters of paths, references, unique names', (name) => {
  const document = parsed[name];
  const found = [...new Set(refs(document))];
  expect(found.length).toBeGreaterThan(20);
  for (const ref of found) expect(resolve(document, ref), ref).toBeTypeOf('object');
  const entries = entriesOf(document);
  expect(entries.length).toBeGreaterThanOrEqual(rows.length);
  for (const [path, entry] of entries) {
    const declared = namesIn(entry, 'path');
    expect(declared, path).toEqual([...path.matchAll(/\{([^}]+)\}/g)].map((match) => match[1]).sort());
    const all = (entry.parameters ?? []).map((one: { in: string; name: string }) => `${one.in} ${one.name}`);
    expect(new Set(all).size, path).toBe(all.length);
    for (const one of entry.parameters ?? []) if (one.in === 'path') expect(one.required, path).toBe(true);
  }
  const ids = entries.map(([, entry]) => entry.operationId);
  expect(ids.filter((id, i) => ids.indexOf(id) !== i)).toEqual([]);
});
