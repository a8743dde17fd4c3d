/** A reader of input whose size others control needs a limit. This test finds the readers; a new reader must declare its bound. */
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { boundedLines, firstLine, wholeInput } from '../../src/api/input.ts';
import { limits } from '../../src/core/limits.ts';
import { fakeHost } from '../support/fake-host.ts';
import { startTracker } from '../support/tracker-server.ts';
import { realHost } from '../support/real-host.ts';
import { covers } from '../support/covers.ts';

const root = new URL('../../src/', import.meta.url).pathname;
const sources = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter((name) =>
  name.endsWith('.ts'),
);

/** Calls that read data without a dedicated limit. `bounded` lists the allowed files: file → its bound. */
type Reader = {
  readonly what: string;
  readonly pattern: RegExp;
  readonly bounded: Readonly<Record<string, string>>;
};
const readers: readonly Reader[] = [
  {
    what: 'standard input',
    pattern: /stdin\.(bytes|lines)\(/,
    bounded: {
      'main.ts': 'twice limits.inputBytes',
      'api/input.ts': 'limits.inputBytes',
      'auth/read-secret.ts': 'limits.secretBytes',
      'auth/programs/credential-protocols.ts': 'limits.credentialRequestBytes',
      'tracker/bulk/bulk.ts': 'rows are read one by one, each with a limit',
      'auth/methods/paste.ts': 'a person who types',
    },
  },
  {
    what: 'a file past Host',
    pattern: /\bfs(\.promises)?\.(readFile(Sync)?|createReadStream)\(|[^.]\breadFileSync\(/,
    bounded: {
      'platform/node/files.ts': 'limits.fileBytes',
      'platform/node/processes.ts': 'files of the kernel',
      'platform/node/builtin.ts': 'files of this program',
      'complete.ts': 'files of this program, and a cluster file for TAB',
    },
  },
  {
    what: 'rows of a list',
    pattern:
      /context\.(?:lookups\.)?rows\(|\b(stream|fetch)Pages[<(]|bucket\.list\(|\bfor await .*\blist(Definitions|Titles)\(/,
    bounded: {
      'cli/derived/command.ts': 'printed as they come',
      'tracker/workspace/read.ts': 'limits.heldRows',
      'tracker/names/resolve.ts': 'limits.heldRows; what a person picks from',
      'tracker/bulk/external-keys.ts': 'limits.heldRows',
      'commands/tracker/everyday.ts': 'limits.heldRows',
      'commands/labels/commands.ts': 'printed as they come',
      'labels/read-labels.ts':
        'limits.heldRows, or handed on as they come; limits.heldRows; listTitles, which has limits.heldRows',
      'labels/apply.ts': 'listTitles, which has limits.heldRows',
      'labels/sync-permissions.ts': 'listTitles, which has limits.heldRows',
      'kv/snapshots/destination.ts': 'limits.heldRows; handed on as they come',
      'support/raw-requests.ts': 'handed on as they come; printed as they come',
    },
  },
  {
    what: 'the body of a request',
    pattern: /\b(incoming|request|message)\.read\((?!limit\b|limits\.)/,
    bounded: {
      'platform/node/listen.ts': 'the limit it is called with, by the length of what is there',
      'etcd-sim/gateway/client-handler.ts': 'the setting of the member, with room for base64',
      'tracker/webhooks.ts': 'limits.eventBytes, by its other name',
    },
  },
];

test.each(readers)('every reader of $what has a limit', ({ pattern, bounded }) => {
  const found = sources.filter((name) => pattern.test(readFileSync(join(root, name), 'utf8')));
  expect(
    found.filter((name) => bounded[name] === undefined),
    'take a limit of src/core/limits.ts',
  ).toEqual([]);
  expect(
    Object.keys(bounded).filter((name) => !found.includes(name)),
    'reads no more',
  ).toEqual([]);
});

/** Sizes that do not limit a reader: sizes of written, stored or shown data, of pieces, of disk and wire formats, and memory budgets. */
const otherSizes: Readonly<Record<string, string>> = {
  'api/audit.ts': 'maxFileBytes',
  'auth/credential-store/store.ts': 'keyBytes',
  'cli/trace.ts': 'SHOWN_BYTES KEPT_BYTES WHOLE_BYTES',
  'kv/client/etcd-client.ts': 'defaultSendBytes',
  'kv/client/messages.ts': 'prefixBytes',
  'kv/client/snapshot-content.ts': 'headerBytes elementBytes metaBytes',
  'core/file-name.ts': 'LONGEST_EXTENSION_BYTES',
  'core/json-scan.ts': 'DEEPEST',
  'kv/client/snapshot.ts': 'trailerBytes pageBytes headBytes',
  'etcd-sim/member/bootstrap.ts': 'MOST_DB_BYTES',
  'kv/snapshots/schedule.ts': 'MOST_CRON_BYTES',
  'kv/upgrade/execute/connection-checks.ts': 'v2Bytes leastBytes',
  'kv/upgrade/guards/disk-space.ts': 'walBytes runBytes',
  'kv/upgrade/guards/store.ts': 'memberRecordBytes',
  'output/row-bytes.ts': 'DEEPEST_ROW',
  'output/table.ts': 'DEEPEST_PATH',
  'output/types.ts': 'DEEPEST_CELL',
  'cli/approved-files.ts': 'chunkBytes',
  'tracker/bulk/journal.ts': 'HEAD_BYTES',
  'kv/engine/progress.ts': 'mostBytes',
  'kv/upgrade/observe/observe.ts': 'mostHashedBytes',
  'kv/upgrade/observe/see-connections.ts': 'beatBytes',
  'kv/upgrade/observe/see-member.ts': 'mostV2Bytes',
  'kv/upgrade/rehearse/private-copy.ts': 'maxScriptBytes',
  'kv/upgrade/supervisors/local.ts': 'tailBytes',
  'kv/upgrade/supervisors/ssh.ts': 'mostPathBytes',
  // The YAML package reads deeper files.
  'core/yaml.ts': 'MAX_DEPTH',
  'mock-server/journal.ts': 'COMPACT_AT_BYTES TIDY_AT_BYTES',
  'mock-server/request-log.ts': 'KEPT_BYTES BLOCK_BYTES',
  'mock-server/service-set.ts': 'POOL_BYTES',
  'mock-server/tracker/state.ts': 'LONG_BYTES',
  'platform/node/transport.ts': 'MOST_BYTES',
  'platform/node/http1.ts': 'READ_BYTES',
  'platform/node/http2.ts': 'windowBytes',
  'platform/node/jq-run.ts': 'RING_BYTES',
  'platform/node/builtin.ts': 'COLLECT_BYTES SHORT_BYTES',
};

test('readers contain no hard-coded limit in bytes, depth or hops', () => {
  const size =
    /^(?:export )?const ([A-Z_]*(?:BYTES|DEEPEST|DEPTH|ALIASES|HOPS)[A-Z_]*|[a-z]\w*(?:Bytes|Depth|Hops))(?:: number)? = [\d_]/gm;
  const found = sources
    .map(
      (name) =>
        [name, [...readFileSync(join(root, name), 'utf8').matchAll(size)].map(([, it]) => it)] as const,
    )
    .filter(([, names]) => names.length > 0)
    .map(([name, names]) => [name, names.join(' ')]);
  expect(Object.fromEntries(found), 'the limit of a reader is a row of src/core/limits.ts').toEqual(
    otherSizes,
  );
});

const inputOf = (size: number) =>
  async function* () {
    const piece = Buffer.alloc(1024 * 1024, 'x');
    for (let left = size; left > 0; left -= piece.length)
      yield piece.subarray(0, Math.min(left, piece.length));
  };
const hostWith = (size: number) => {
  const host = fakeHost();
  return { terminal: { ...host.terminal, stdin: { ...host.terminal.stdin, bytes: inputOf(size) } } };
};

test('standard input: n bytes and n + 1', covers('limit/inputBytes'), async () => {
  expect((await wholeInput(hostWith(limits.inputBytes))).length).toBe(limits.inputBytes);
  for (const read of [wholeInput, firstLine])
    await expect(read(hostWith(limits.inputBytes + 1))).rejects.toMatchObject({ category: 'usage' });
  expect(await firstLine(hostWith(0))).toBeUndefined();
  const drained = async (size: number): Promise<number> => {
    let seen = 0;
    for await (const part of boundedLines(hostWith(size))) seen += part.length;
    return seen;
  };
  expect(await drained(limits.inputBytes)).toBe(limits.inputBytes);
  await expect(drained(limits.inputBytes + 1)).rejects.toMatchObject({ category: 'usage' });
});

test('a file that is read whole: n + 1 bytes', covers('limit/fileBytes'), async () => {
  const { host, directory, close } = await realHost();
  const path = join(directory, 'large');
  await host.files.create(path, '');
  await host.files.truncate(path, limits.fileBytes + 1);
  await expect(host.files.readBytes(path)).rejects.toMatchObject({ code: 'EFBIG' });
  await close();
});

test('a body of the mock server: n bytes and n + 1', covers('limit/bodyBytes'), async () => {
  const server = await startTracker({}, 'empty');
  const body = (size: number): string => `{"name":"${'x'.repeat(size - '{"name":""}'.length)}"}`;
  const statusOf = async (size: number): Promise<number> =>
    (await server.ask('POST', '/labels', body(size))).status;
  // The server reads a body within the limit, and then rejects the name as too long.
  expect(await statusOf(limits.bodyBytes)).toBe(400);
  expect(await statusOf(limits.bodyBytes + 1)).toBe(413);
  await server.close();
});
