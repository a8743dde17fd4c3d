/** Parsers of external text and bytes, each with an input of any size. */
import { etcdMethods } from '../../../src/api-specs/etcd/messages.ts';
import { JsonRows } from '../../../src/api/list-rows.ts';
import { fileNameKey, safeFileName, uniqueFileName } from '../../../src/core/file-name.ts';
import { decode, encode } from '../../../src/core/protobuf.ts';
import { storedLines } from '../../../src/core/text.ts';
import { parseJournal } from '../../../src/kv/engine/journal.ts';
import { grpcMessages } from '../../../src/kv/client/messages.ts';
import { jsonObjects } from '../../../src/kv/client/watch.ts';
import { parseConfig } from '../../../src/kv/upgrade/configuration/configuration.ts';
import { lockFrom } from '../../../src/labels/lock-file.ts';
import { documentsIn } from '../../../src/labels/read-files.ts';
import { Chunked } from '../../../src/platform/node/http1-answer.ts';
import { parseJournal as parseBulkJournal } from '../../../src/tracker/bulk/journal.ts';
import { readRows } from '../../../src/tracker/bulk/csv.ts';

export type Reader = {
  readonly name: string;
  /** The smallest of three sizes. The other sizes have 4 and 16 times as many parts. */
  readonly size: number;
  make(size: number): string | Uint8Array;
  read(input: Uint8Array): unknown;
};
const text = (input: Uint8Array): string => Buffer.from(input).toString('utf8');
const times = (size: number, part: (i: number) => string): string =>
  Array.from({ length: size }, (_, i) => part(i)).join('');
async function* pieces(input: Uint8Array, bytes = 16_384): AsyncGenerator<Uint8Array> {
  for (let from = 0; from < input.length; from += bytes) yield input.subarray(from, from + bytes);
}
const drain = async (rows: AsyncIterable<unknown>): Promise<void> => {
  for await (const _ of rows);
};
const ranged = etcdMethods['/etcdserverpb.KV/Range'];
const framed = (message: Uint8Array): Uint8Array => {
  const head = Buffer.alloc(5);
  head.writeUInt32BE(message.length, 1);
  return Buffer.concat([head, message]);
};
const rangeOf = (size: number): Uint8Array => {
  if (ranged === undefined) throw new Error('the table has no row for KV/Range');
  const kvs = Array.from({ length: size }, (_, i) => ({
    key: Buffer.from(`key-${i}`),
    value: Buffer.alloc(40),
  }));
  return encode(ranged.response, { kvs } as never);
};
const label = (i: number): string => `{"id":${i},"name":"label ${i}","color":null,"stats":{"num_epics":0}}`;

export const readers: readonly Reader[] = [
  {
    name: 'CSV, many rows',
    size: 4000,
    make: (size) => `resource,op,name\n${times(size, (i) => `labels,create,"a ""${i}"""\n`)}`,
    read: (input) => drain(readRows(pieces(input), 'csv' as never)),
  },
  {
    name: 'CSV, one long cell',
    size: 800_000,
    make: (size) => `resource,op,name\nlabels,create,"${'a""\n'.repeat(size / 4)}"\n`,
    read: (input) => drain(readRows(pieces(input), 'csv' as never)),
  },
  {
    name: 'NDJSON',
    size: 4000,
    make: (size) => times(size, (i) => `{"resource":"labels","op":"create","name":"a ${i}"}\n`),
    read: (input) => drain(readRows(pieces(input), 'ndjson' as never)),
  },
  {
    name: 'JSON list in pieces',
    size: 10_000,
    make: (size) => `[${times(size, (i) => `${i === 0 ? '' : ','}${label(i)}`)}]`,
    read: (input) => {
      const rows = new JsonRows('labels');
      for (let from = 0; from < input.length; from += 4096) rows.push(input.subarray(from, from + 4096));
    },
  },
  {
    name: 'JSON list, one long row',
    size: 200_000,
    make: (size) => `[{"name":"${'x'.repeat(size)}"}]`,
    read: (input) => {
      const rows = new JsonRows('labels', Number.MAX_SAFE_INTEGER);
      for (let from = 0; from < input.length; from += 256) rows.push(input.subarray(from, from + 256));
    },
  },
  {
    name: 'YAML label definitions',
    size: 60,
    make: (size) =>
      times(
        size,
        (i) => `---\ntitle: L${i}\nfields:\n  - {name: Status, type: selection, choices: [Open, Done]}\n`,
      ),
    read: (input) => documentsIn('/l.yaml', text(input)),
  },
  {
    name: 'YAML lock file',
    size: 60,
    make: (size) =>
      `version: 1\nlabels:\n${times(size, (i) => `  a${i}:\n    deployments:\n      here: {id: x${i}, title: A${i}, revision: "1", state: published, copyMode: none, enabledApps: [], digest: d, fields: {}}\n`)}`,
    read: (input) => lockFrom('/labels.lock.yaml', text(input)),
  },
  {
    name: 'YAML server configuration',
    size: 100,
    make: (size) => times(size, (i) => `key-${i}: "value" # note\n`),
    read: (input) => parseConfig(text(input)),
  },
  {
    name: 'protobuf list',
    size: 2000,
    make: rangeOf,
    read: (input) => decode(ranged?.response ?? {}, Buffer.from(input)),
  },
  {
    name: 'gRPC frames',
    size: 4000,
    make: (size) => Buffer.concat(Array.from({ length: size }, () => framed(rangeOf(1)))),
    read: (input) => drain(grpcMessages(pieces(input, 512))),
  },
  {
    name: 'gRPC, one long frame',
    size: 400_000,
    make: (size) => framed(Buffer.alloc(size)),
    read: (input) => drain(grpcMessages(pieces(input, 512))),
  },
  {
    name: 'JSON stream of the store',
    size: 4000,
    make: (size) => times(size, (i) => `{"result":{"events":[{"kv":{"key":"${i}"}}]}}\n`),
    read: (input) => drain(jsonObjects(pieces(input, 512))),
  },
  {
    name: 'JSON stream of the store, one long object',
    size: 100_000,
    make: (size) => `{"result":{"blob":"${'x'.repeat(size)}"}}`,
    read: (input) => drain(jsonObjects(pieces(input, 256))),
  },
  {
    name: 'journal of a run',
    size: 2000,
    make: (size) => times(size, (i) => `{"at":"2026-01-01T00:00:00Z","kind":"begin","step":"n${i}.stop"}\n`),
    read: (input) => [storedLines('/f', text(input), []), parseJournal(text(input))],
  },
  {
    name: 'journal of a bulk run',
    size: 2000,
    make: (size) =>
      `h 1700000000000\n${times(size, (i) => `b ${i + 1} {"resource":"epics","op":"create"}\ns ${i + 1} 1a-9xz${i % 9}\nd ${i + 1} 1a-9xz${i % 9} ${i + 7}\n`)}`,
    read: (input) => parseBulkJournal(text(input), '/j'),
  },
  {
    name: 'chunked response',
    size: 8000,
    make: (size) => `${times(size, () => '10\r\n0123456789abcdef\r\n')}0\r\n\r\n`,
    read: (input) => {
      const body = new Chunked();
      for (let from = 0; from < input.length; from += 512)
        body.push(Buffer.from(input.subarray(from, from + 512)), () => undefined);
    },
  },
  {
    name: 'file name of a long text',
    size: 50_000,
    make: (size) => `${' .'.repeat(size / 2)}${'\u200b'.repeat(size / 2)}`,
    read: (input) => safeFileName(text(input), 'x'),
  },
  {
    name: 'file names of equal titles',
    size: 500,
    make: (size) => String(size),
    read: (input) => {
      const taken = new Set<string>();
      for (let i = 0; i < Number(text(input)); i += 1)
        taken.add(fileNameKey(uniqueFileName(['Title', `Title-${i}`], '.yaml', taken)));
    },
  },
];
