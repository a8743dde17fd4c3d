/**
 * Each flag and argument that reads a file, taken from the list of commands. A file that cannot be read, or whose content is not
 * text, is named in the error, and nothing is sent. The rules for each format are in read-files.test.ts.
 */
import { describe, expect, test } from 'vitest';
import type { Command } from '../../src/cli/command.ts';
import { effectsOf } from '../../src/cli/read-only.ts';
import { groups } from '../../src/commands/program.ts';
import { bare, type Field } from '../../src/core/field.ts';
import type { Argument, Flag } from '../../src/core/flag.ts';
import { decodeUtf8 } from '../../src/core/text.ts';
import type { Host } from '../../src/platform/host.ts';
import { labelsInMemory, trackerInMemory } from '../support/in-memory.ts';
import { slice } from '../support/slice.ts';

type Part = {
  readonly command: Command;
  readonly at: string;
  readonly name: string;
  readonly part: Flag | Argument;
};
const partsOf = (command: Command): Part[] => [
  ...(command.args ?? []).map((part) => ({
    ...{ command, part, name: part.name },
    at: `${command.path.join(' ')} <${part.name}>`,
  })),
  ...Object.entries(command.flags ?? {}).map(([name, part]) => ({
    ...{ command, part, name },
    at: `${command.path.join(' ')} --${name}`,
  })),
];
const commands = (await Promise.all(groups.map((group) => group.load()))).flat();
/** A switch, such as --stdin, names no file. */
const all = commands
  .flatMap(partsOf)
  .filter(({ part }) => effectsOf(part)?.includes('reads') === true && bare(part.field).type !== 'boolean');

/** Parts that name no text file of the user, and files that only a part of the machine reads. */
const exceptions: readonly (readonly [RegExp, string])[] = [
  [/^(kv|mcp) (?!.*--cluster)/, 'programs, certificates, snapshots and directories of a cluster'],
  [/^kv snapshot (verify|diff) --cluster/, 'the snapshot is read first'],
  [/^mcp /, 'the server reads the files when a tool is called'],
  [/^mock kv /, 'directories and programs of simulated members'],
  [/^mock (start|run) --seed/, 'the started process reads the file, as mock serve does'],
  [/^tracker (bulk|sync) --journal|^tracker bulk undo/, 'journals that only this program writes'],
  [/^labels export --directory/, 'a directory for results'],
  [/^tracker files upload/, 'files of any format'],
  [/^extension install/, 'a program'],
  [/^version /, 'files of a release, which test/support/installation checks'],
  [/^login /, 'a key file or an address, which only some methods read'],
];
const exceptionFor = (at: string) => exceptions.find(([pattern]) => pattern.test(at));
const readers = all.filter(({ at }) => exceptionFor(at) === undefined);

const FILE = 'bad.file';
/** Additional arguments, without which the command does not read the file. */
const additional: readonly (readonly [RegExp, readonly string[]])[] = [
  [/^tracker (bulk|sync) --map-file/, ['-f', 'rows.csv', '--resource', 'labels']],
  [/^labels \w+ --(values|rules)/, ['-f', 'a.yaml']],
  [/^kv compact --cluster/, ['--keep-last', '1']],
  [/^kv member (add|update) --cluster/, ['--peer-urls', 'http://127.0.0.1:1']],
  [/^kv snapshot prune --cluster/, ['--keep-last', '1']],
  [/^kv wait --cluster/, ['--for', 'healthy']],
];
const files = { 'rows.csv': 'name\na\n', 'a.yaml': 'title: A\n' };
const samples: Readonly<Record<string, string>> = {
  service: 'tracker',
  method: 'POST',
  path: '/labels',
  label: 'labels/x',
};
const sampleOf = (field: Field, name: string): string => {
  const found = bare(field) as { readonly format?: string; readonly values?: readonly unknown[] };
  if (found.format === 'uuid') return '12345678-9012-4456-8890-123456789012';
  return String(samples[name] ?? found.values?.[0] ?? 1);
};
const lineOf = ({ command, at, name, part }: Part): string[] => {
  const value = { body: `@${FILE}`, field: `x=@${FILE}` }[name] ?? FILE;
  const args = (command.args ?? [])
    .filter((one) => one === part || one.optional !== true)
    .map((one) => (one === part ? value : sampleOf(one.field, one.name)));
  const more = additional.find(([pattern]) => pattern.test(at))?.[1] ?? [];
  return [...command.path, ...args, ...(at.endsWith('>') ? [] : [`--${name}`, value]), ...more];
};
/** A host on which the file has this content, or fails with this code. */
const hostWith =
  (content: Uint8Array | string) =>
  (host: Host): Host => {
    const isIt = (path: string): boolean => path.endsWith(FILE);
    const bytes = (path: string): Uint8Array => {
      if (typeof content !== 'string') return content;
      throw Object.assign(new Error(`${content}: cannot open '${path}'`), { code: content });
    };
    const textIn = (path: string): string | undefined =>
      content === 'ENOENT' ? undefined : decodeUtf8(bytes(path), path);
    const old = host.files;
    return {
      ...host,
      files: {
        ...old,
        readBytes: async (path) => (isIt(path) ? bytes(path) : old.readBytes(path)),
        read: async (path) => (isIt(path) ? textIn(path) : old.read(path)),
        readNow: (path) => (isIt(path) ? textIn(path) : old.readNow(path)),
        stream: (path) =>
          isIt(path)
            ? (async function* () {
                yield bytes(path);
              })()
            : old.stream(path),
      },
    };
  };
const rejected = async (part: Part, content: Uint8Array | string): Promise<unknown[]> => {
  const at = part.at.startsWith('labels') ? labelsInMemory(files) : trackerInMemory(files);
  const words = [...lineOf(part), '-o', 'json'];
  const ran = await at.run(words, { isTopLevel: true, change: hostWith(content) });
  return [[2, 3].includes(ran.code), ran.err.includes(FILE) || ran.err, ran.writes, ran.written];
};
const REJECTED = [true, true, [], []];

const contents: readonly (readonly [string, Uint8Array | string])[] = [
  ['a missing file', 'ENOENT'],
  ['a directory', 'EISDIR'],
  ['a file without permission', 'EACCES'],
  ['Latin-1', Buffer.from('a: caf\xe9\n', 'latin1')],
  ['UTF-16', Buffer.from('\uFEFFa: b\n', 'utf16le')],
  ['NUL', Buffer.from('a: b\0c\n')],
  ['two byte order marks', Buffer.from('\uFEFF\uFEFFa: b\n')],
  ['a byte order mark inside the text', Buffer.from('a: b\uFEFFc\n')],
];
const documents: readonly (readonly [string, string])[] = [
  ['an empty file', ''],
  ['only a byte order mark', '\uFEFF'],
  ['a repeated key', '{"name":"a","name":"b"}'],
  ['a trailing comma', '{"name":"a",}'],
  ['a comment', '{/* x */"name":"a"}'],
  ['two documents', '{"name":"a"}\n{"name":"b"}'],
  ['a number that would be rounded', '{"name":12345678901234567890}'],
  ['values that are nested too deeply', `{"name":${'['.repeat(250)}1${']'.repeat(250)}}`],
];

test('each part that reads a file is tried or is an exception that exists', () => {
  expect(readers.length).toBeGreaterThan(150);
  for (const [pattern] of exceptions)
    expect([pattern, all.some(({ at }) => pattern.test(at))]).toEqual([pattern, true]);
  for (const [pattern] of additional)
    expect([pattern, readers.some(({ at }) => pattern.test(at))]).toEqual([pattern, true]);
});
/** One part of each name in a group belongs to each run. */
const firstOfItsName = readers.filter(
  ({ command, name }, i) =>
    readers.findIndex((one) => one.command.path[0] === command.path[0] && one.name === name) === i,
);
const tried = new Set([...firstOfItsName, ...slice(readers, 12)]);
describe.each([...tried].map((part) => [part.at, part] as const))('%s', (_, part) => {
  test('rejects a file that cannot be read, and names it', async () => {
    for (const [kind, content] of contents)
      expect([kind, await rejected(part, content)]).toEqual([kind, REJECTED]);
  });
  test.runIf(part.name === 'body' && part.command.path[0] !== 'api')(
    'rejects a text that is not one JSON document, and names the file',
    async () => {
      for (const [kind, text] of documents)
        expect([kind, await rejected(part, Buffer.from(text))]).toEqual([kind, REJECTED]);
    },
  );
});
