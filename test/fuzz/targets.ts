/**
 * Readers of external texts. Each accepts any bytes and either reads them or throws an error that describes the problem
 * (AppError or the error of the transport).
 */
import { verifyEvent } from '../../src/auth/events/receiver.ts';
import { parseEncrypted } from '../../src/auth/credential-store/store.ts';
import { checkCallback } from '../../src/auth/callback.ts';
import { parseJournal as bulkJournal } from '../../src/tracker/bulk/journal.ts';
import { readRows } from '../../src/tracker/bulk/csv.ts';
import { readProfiles } from '../../src/config/load.ts';
import { configFile } from '../../src/config/settings.ts';
import { storedLines } from '../../src/core/text.ts';
import { AppError } from '../../src/core/problem.ts';
import { dbFile, storedFrom } from '../../src/etcd-sim/disk/db-file.ts';
import {
  inMemory,
  snapshotContent,
  snapshotKeys,
  snapshotRevision,
} from '../../src/kv/client/snapshot-content.ts';
import { readCluster } from '../../src/kv/upgrade/cluster/cluster-file.ts';
import { parseConfig } from '../../src/kv/upgrade/configuration/configuration.ts';
import { migrateConfig } from '../../src/kv/upgrade/configuration/migrate.ts';
import { parseJournal } from '../../src/kv/engine/journal.ts';
import { progressOf } from '../../src/kv/engine/progress.ts';
import { lockFrom } from '../../src/labels/lock-file.ts';
import { documentsIn } from '../../src/labels/read-files.ts';
import { readJournal } from '../../src/mock-server/journal.ts';
import { Chunked, parseHead } from '../../src/platform/node/http1-answer.ts';
import { fakeHost } from '../support/fake-host.ts';
import { answerTargets } from './answer-targets.ts';
import { requestTargets } from './request-targets.ts';
import { storedTargets } from './stored-targets.ts';
import { type Target, attempt, drained, pieces, program, text } from './target.ts';

const cluster = `name: shop
driver: local
members:
  - {name: n1, client_url: "http://127.0.0.1:2379", data_dir: /d/n1, pid_file: /d/n1.pid, old_command: "etcd --data-dir /d/n1", new_command: [etcd2]}
  - {name: n2, client_url: "http://127.0.0.1:2380", data_dir: /d/n2}
tls: {ca_file: /ca.pem}
timeouts: {stop_seconds: 10}
`;
const journal =
  '{"at":"2026-01-01T00:00:00Z","kind":"opened","action":"upgrade"}\n{"at":"2026-01-01T00:00:01Z","kind":"begin","step":"n1.stop"}\n{"at":"2026-01-01T00:00:02Z","kind":"end","step":"n1.stop"}\n{"at":"2026-01-01T00:00:03Z","kind":"reverting","member":"n1","reason":"x"}\n{"at":"2026-01-01T00:00:04Z","kind":"closed","outcome":"stopped"}\n';
const workspace =
  'version: 1\nlabels:\n  - {name: bug, color: "#aa0000"}\nepics:\n  - {name: Cache, labels: [bug], objectives: [Faster]}\nobjectives:\n  - name: Faster\n';

/** A member's database with keys, in the format of a snapshot. */
const database = dbFile({
  key: [2, 3, 4].map((n) => {
    const key = Buffer.alloc(17);
    key.writeBigUInt64BE(BigInt(n), 0);
    return { key, value: Buffer.from([0x0a, 1, 0x61, 0x10, n, 0x18, n, 0x20, 1, 0x2a, 1, 0x62]) };
  }),
  meta: [{ key: Buffer.from('term'), value: Buffer.from('1') }],
});
export const targets: readonly Target[] = [
  {
    name: 'arguments',
    seeds: [
      'tracker\0labels\0list\0-o\0json',
      'kv\0check\0--endpoints\0http://127.0.0.1:1',
      'config\0set\0tracker.url\0https://x',
      'labels\0export\0x\0--all',
      'help\0kv',
      'tracker\0labels\0create\0--name\0x\0--dry-run',
      'commands\0--columns\0name',
      'api\0GET\0/x',
    ],
    run: (input) =>
      program(
        text(input)
          .split('\0')
          .slice(0, 12)
          .filter((word) => !/^(mock|login|tour|mcp|doctor|init)$/.test(word)),
      ),
  },
  {
    name: 'configuration',
    seeds: ['{"current":"a","profiles":{"a":{"timeout":"3s"}}}', '{}'],
    run: (input) => {
      const host = fakeHost({ files: {} });
      return readProfiles(fakeHost({ files: { [configFile(host)]: text(input) } }));
    },
  },
  {
    name: 'cluster file',
    seeds: [cluster],
    run: (input) =>
      readCluster(fakeHost({ files: { '/c.yaml': text(input) } }), '/c.yaml', 'upgrade' as never),
  },
  {
    name: 'plan',
    seeds: [
      '{"format":1,"digest":"d","options":{"accept":[],"copy_data":true,"hold_last":false,"stable_seconds":1}}',
    ],
    run: (input) =>
      program(['kv', 'upgrade', '--endpoints', 'http://127.0.0.1:9', '--plan', '/p.json', '--yes'], {
        '/p.json': text(input),
      }),
  },
  {
    name: 'server configuration',
    seeds: ['name: n1\ndata-dir: /d\nlog-outputs: [stderr]\nauto-compaction-retention: "1"\n'],
    run: async (input) => {
      if ('file' in (await parseConfig(text(input)))) await migrateConfig(text(input), '3.4');
    },
  },
  {
    name: 'upgrade journal',
    seeds: [journal],
    run: (input) => progressOf(parseJournal(text(input)).entries),
  },
  { name: 'stored lines', seeds: [journal], run: (input) => storedLines('/f', text(input), []) },
  {
    name: 'bulk journal',
    seeds: ['h 5\ns 1 aa\nd 1 aa 71\ns 2 bb\nf 3 cc\n'],
    run: (input) => bulkJournal(text(input), 'bulk.journal'),
  },
  {
    name: 'mock journal',
    seeds: ['opsctl-mock 1\n\n~14\n0123abcd a\t1\t{"x":1}\n'],
    run: (input) => readJournal({ readBytes: async () => input } as never, '/j', () => {}),
  },
  {
    name: 'member log',
    seeds: ['{"meta":{"member":"a","cluster":"b"}}\n{"hard":{"term":1}}\n{"e":[1,1]}\n{"commit":1}\n'],
    run: (input) => storedFrom(text(input)),
  },
  {
    name: 'snapshot',
    seeds: ['\0'.repeat(64) + 'bolt', database],
    run: (input) => {
      const ends = [snapshotContent, snapshotRevision, snapshotKeys].map((read) =>
        attempt(() => read(inMemory(input))),
      );
      for (const error of ends) if (error !== undefined && !(error instanceof AppError)) throw error;
    },
  },
  {
    name: 'chunked body',
    seeds: ['5\r\nhello\r\n6;name="v"\r\n world\r\n0\r\nx-trailer: 1\r\n\r\n', '0\r\n\r\n'],
    run: (input) => {
      const body = new Chunked();
      for (let from = 0; from < input.length && !body.isDone; from += 7)
        body.push(input.subarray(from, from + 7), () => undefined);
    },
  },
  {
    name: 'response head',
    seeds: [
      'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 5\r\nset-cookie: a=b',
      'HTTP/1.1 204 No Content\r\ntransfer-encoding: chunked\r\nconnection: close',
    ],
    run: (input) => parseHead(input.toString('latin1'), 'GET'),
  },
  {
    name: 'label definitions',
    seeds: [
      'title: A\ndescription: d\nstate: published\nfields:\n  - {name: Status, type: selection, choices: [Open, {name: Done, disabled: true}]}\n---\ntitle: B\n',
      '{"title":"C"}',
    ],
    run: (input) => documentsIn('/l.yaml', text(input)),
  },
  {
    name: 'label lock file',
    seeds: [
      'labels:\n  a:\n    title: A\n    deployments:\n      here: {id: x, revision: "1", fields: []}\n',
    ],
    run: (input) => lockFrom('/labels.lock.yaml', text(input)),
  },
  {
    name: 'workspace',
    seeds: [workspace],
    run: (input) => program(['tracker', 'diff', '-f', '/w.yaml'], { '/w.yaml': text(input) }),
  },
  {
    name: 'NDJSON',
    seeds: ['{"resource":"labels","op":"create","name":"x"}\n{"resource":"epics","op":"update","id":5}\n'],
    run: (input) => drained(readRows(pieces(input), 'ndjson' as never)),
  },
  {
    name: 'CSV',
    seeds: ['resource,op,name,labels\nlabels,create,"a ""b""",\nepics,update,x,bug;chore\n'],
    run: (input) => program(['tracker', 'bulk', '-f', '/r.csv', '--dry-run'], { '/r.csv': text(input) }),
  },
  {
    name: 'token',
    seeds: [
      'eyJhbGciOiJSUzI1NiIsImtpZCI6ImEiLCJ0eXAiOiJzZWNldmVudCtqd3QifQ.eyJpc3MiOiJodHRwOi8vMTI3LjAuMC4xIiwiYXVkIjoiYyIsImlhdCI6MSwianRpIjoiYSIsImV2ZW50cyI6e319.AAAA',
    ],
    run: (input) =>
      verifyEvent(text(input), {
        issuer: 'http://127.0.0.1',
        audience: 'c',
        keys: [{ kty: 'RSA', kid: 'a', n: 'AQAB', e: 'AQAB', alg: 'RS256' }],
      } as never),
  },
  {
    name: 'stored credentials',
    seeds: ['{"version":1,"key":"file","iv":"AAAA","tag":"AAAA","data":"AAAA"}'],
    run: (input) => parseEncrypted(text(input), '/c.json'),
  },
  {
    name: 'callback',
    seeds: ['code=a&state=s', 'error=access_denied&error_description=x&state=s'],
    run: (input) => checkCallback(new URLSearchParams(text(input)), { state: 's' }),
  },
  ...storedTargets,
  ...answerTargets,
  ...requestTargets,
];
