/** Files that the program stores or receives: truncated, corrupted, or written by another program. */
import { createHash } from 'node:crypto';
import { readPending } from '../../src/auth/detached-login.ts';
import { placeIndex } from '../../src/auth/credential-store/store.ts';
import { readKeyFile } from '../../src/auth/read-secret.ts';
import { sharedFailure } from '../../src/auth/renew.ts';
import { parseLines, turnOf } from '../../src/api/rate.ts';
import { Faults, readFaults } from '../../src/etcd-sim/forms.ts';
import { readContent } from '../../src/etcd-sim/cluster/start.ts';
import { findOperations, unfinishedOperation } from '../../src/kv/operations/journal.ts';
import { historyRow, operationRow } from '../../src/kv/operations/record.ts';
import { parseManifest, parseName } from '../../src/kv/snapshots/catalog.ts';
import {
  completedClusters,
  inProgress,
  openFleetJournal,
  readFleet,
} from '../../src/kv/upgrade/fleet/fleet-file.ts';
import { findRuns } from '../../src/kv/engine/journal.ts';
import { sharedRun } from '../../src/kv/engine/progress.ts';
import { placementOf } from '../../src/kv/upgrade/placement.ts';
import { readRestore, restoreLine } from '../../src/kv/upgrade/restore/execute.ts';
import { readReport } from '../../src/kv/upgrade/present/report.ts';
import { markdownFrom, pageFrom } from '../../src/kv/upgrade/present/page.ts';
import { wholeRun } from '../../src/kv/upgrade/present/run-model.ts';
import { digestOf } from '../../src/labels/lock-entries.ts';
import { bodyBytes, readCassette } from '../../src/mock-server/cassette/cassette.ts';
import { liveServer } from '../../src/mock-server/instance-lock.ts';
import { identityIn } from '../../src/mock-server/local-authority.ts';
import { savedStateFrom } from '../../src/mock-server/service-set.ts';
import { lookAt } from '../../src/platform/file-lock.ts';
import { fakeHost } from '../support/fake-host.ts';
import { HOME, type Target, program, signIn, text } from './target.ts';

const RUN = '20260102T030405Z-0001';
const clusters = '/s/kv-clusters';
const owner = '{"user":"ann","host":"bastion","pid":1}';
const plan = `{"format":1,"cluster":"shop","digest":"d","from":"3.2","to":"3.3","order":["n1"],"options":{"accept":[],"copy_data":false,"hold_last":false,"stable_seconds":1},"findings":[],"steps":[],"observation":{"members":[]}}`;
const report = `{"run":"${RUN}","cluster":"shop","from":"3.2","to":"3.3","outcome":"done","message":"m","owner":${owner},"started_at":"2026-01-01T00:00:00Z","finished_at":"2026-01-01T00:01:00Z","duration_ms":60000,"plan_digest":"d","members":[{"name":"n1","client_url":"http://a:1","was_leader":true,"down_ms":5,"gate":[{"check":"health","ok":true,"detail":"x"}]}],"steps":[{"id":"n1.stop","title":"t","started_at":"2026-01-01T00:00:00Z","duration_ms":1,"outcome":"done"}],"snapshots":[],"canary":{"writes":1,"failed":0,"longest_gap_ms":1},"unexpected_log_lines":[],"journal":"/j","findings":[{"guard":"g","level":"pass","title":"t"}]}`;
const operation = `{"at":"2026-01-01T00:00:00Z","kind":"opened","run":"r","plan":{"id":"r","operation":"defrag","cluster":"shop","digest":"d","made_at":"2026-01-01T00:00:00Z","steps":[{"id":"n1.defrag"}],"observation":{"cluster_version":"3.5.0"}},"owner":${owner}}
{"at":"2026-01-01T00:00:01Z","kind":"begin","step":"n1.defrag"}
{"at":"2026-01-01T00:00:02Z","kind":"closed","outcome":"done","message":"m"}
`;
/** A host with one file at this path. */
const at = (path: string, input: Buffer) => fakeHost({ files: { [path]: text(input) } });
/** Returns the path of the cached names of the tracker. */
const cacheOf = (kind: string): string =>
  `${HOME}/cache/mock/tracker/${createHash('sha256').update('http://127.0.0.1:9').digest('hex').slice(0, 16)}/${kind}.json`;
const clusterOf = (directory: string) => ({ name: 'shop', snapshot_dir: directory }) as never;

export const storedTargets: readonly Target[] = [
  {
    name: 'list of sign-ins',
    seeds: ['{"current":"a","profiles":["a","b"]}'],
    run: (input) => placeIndex(signIn({ '/sign-ins.json': text(input) })),
  },
  {
    name: 'started login',
    seeds: [
      '{"server":"s","endpoints":{"authorize":"https://a","token":"https://b","revoke":"https://c"},"clientId":"c","redirectUri":"http://127.0.0.1:1/","verifier":"vvvvvvvv","state":"ssssssss","nonce":"nnnnnnnn","requested":["openid"],"expiresMs":9e15}',
    ],
    run: (input) => readPending(signIn({ '/s/pending-login.json': text(input) })),
  },
  {
    name: 'shared failure',
    seeds: [
      '{"id":"a","environment":"e","category":"network","message":"m","detail":{"code":"X","tryThis":["y"]}}',
    ],
    run: (input) => sharedFailure(signIn({ '/f': text(input) }), '/f').throwIfLeft(),
  },
  {
    name: 'key file',
    seeds: ['{"client_email":"a@b","private_key":"k","private_key_id":"i","token_uri":"https://t"}'],
    run: (input) => readKeyFile(signIn({ '/k.json': text(input) }), '/k.json', '--key-file'),
  },
  {
    name: 'lock file',
    seeds: [
      '{"pid":1,"machine":"m","nonce":"n","sinceMs":5,"mark":"x"}',
      '{"pid":1,"machine":"m","nonce":"n","sinceMs":5,"mark":"x","machineId":"i","bootId":"b","pidNamespace":"pid:[1]"}',
    ],
    run: (input) => lookAt(at('/l', input), '/l'),
  },
  {
    name: 'owner of the mock',
    seeds: [
      '{"pid":1,"machine":"m","nonce":"n","sinceMs":5,"what":"w","server":{"url":"http://a","ready":{}}}',
    ],
    run: (input) => liveServer(at('/d/owner.json', input), '/d'),
  },
  {
    name: 'certificates of the mock',
    seeds: ['{"ca":"a","cert":"b","key":"c","until_ms":9e15}'],
    run: (input) => identityIn(at('/d/tls.json', input), '/d'),
  },
  {
    name: 'saved state of the mock',
    seeds: ['{"opsctl_state":1,"collections":{"a":[[1,{"$bytes":"AA=="}],["x",null]]}}'],
    run: (input) => savedStateFrom(text(input)),
  },
  {
    name: 'rate file',
    seeds: ['t 5 a\nd 6 a\nx 7 b\nb 90\no 95\n'],
    run: (input) =>
      turnOf(parseLines(text(input)), 'a', 100, {
        limit: 3,
        isAlive: () => true,
      } as never),
  },
  {
    name: 'names',
    seeds: ['{"readAt":1767323045000,"things":[{"id":5,"names":["bug"]}]}'],
    run: (input) => program(['tracker', 'labels', 'get', 'bug'], { [cacheOf('label')]: text(input) }),
  },
  {
    name: 'records seen',
    seeds: ['5\t1767323045000\tbug\n'],
    run: (input) =>
      program(
        ['tracker', 'labels', 'list'],
        { [`${HOME}/cache/mock/records/label`]: text(input) },
        { reply: () => ({ body: [{ id: 5, name: 'bug' }] }) },
      ),
  },
  {
    name: 'workspace plan',
    seeds: [
      '{"version":1,"workspace":{"labels":[{"name":"zzz"}]},"options":{"prune":[]},"actions":[{"action":"create","kind":"labels","name":"zzz","changes":{"name":{"from":null,"to":"zzz"}}}]}',
    ],
    run: (input) =>
      program(
        ['tracker', 'apply', '--plan', '/p.json', '--yes'],
        { '/p.json': text(input) },
        { reply: () => ({ body: [] }) },
      ),
  },
  {
    name: 'label plan',
    seeds: [
      '{"kind":"opsctl-labels-plan","version":1,"deployment":"http://127.0.0.1:9","options":{},"documents":[{"source":"a.yaml","index":0,"isOnly":true,"value":{"title":"A"}}],"labels":[{"action":"create"}]}',
    ],
    // The digest is valid, because a user who edits a plan can also compute the digest.
    run: (input) => {
      let plan = text(input);
      try {
        const { digest: _, ...rest } = JSON.parse(plan);
        plan = JSON.stringify({ ...rest, digest: digestOf(rest) });
      } catch {
        // The invalid text stays unchanged.
      }
      return program(
        ['labels', 'apply', '--plan', '/p.json', '--yes'],
        { '/p.json': plan },
        { reply: () => ({ body: { labels: [] } }) },
      );
    },
  },
  {
    name: 'label rules',
    seeds: ['rules:\n  title-case: off\n', 'naming: "^[A-Z]"\n'],
    run: (input) =>
      program(['labels', 'lint', '-f', '/l.yaml', '--rules', '/r.yaml'], {
        '/l.yaml': 'title: A\n',
        '/r.yaml': text(input),
      }),
  },
  {
    name: 'versions file',
    seeds: [
      '{"versions":[{"minor":"3.4","latest":"3.4.40","is_ended":false}],"rules":[{"from":"3.4.1","through":"3.4.3","on":"arrive","level":"warn","reason":"r","instead":"i","source":"https://a"}]}',
    ],
    run: (input) => program(['kv', 'versions', '--versions-file', '/v.json'], { '/v.json': text(input) }),
  },
  {
    name: 'trace',
    seeds: [
      '{"format":"opsctl-trace/1","version":"1","command":["tracker","labels","list"],"services":{"tracker":{"baseUrl":"http://127.0.0.1:9"}},"exchanges":[{"startedMs":1,"tookMs":1,"attempt":1,"method":"GET","url":"http://127.0.0.1:9/api/v3/labels","requestHeaders":{},"status":200,"responseHeaders":{},"responseBody":"[]"}]}',
    ],
    run: (input) => program(['tracker', 'labels', 'list', '--replay', '/t.json'], { '/t.json': text(input) }),
  },
  {
    name: 'cassette',
    seeds: [
      '{"opsctl_cassette":1,"upstream":"http://a","recorded_at":"x"}\n{"request":{"method":"GET","path":"/","query":"","headers":{}},"response":{"status":200,"headers":{},"body":{"text":"x"}}}\n',
    ],
    run: async (input) => {
      const { exchanges } = await readCassette(at('/c', input).files, '/c');
      for (const { response } of exchanges) bodyBytes(response.body);
    },
  },
  {
    name: 'faults of a member',
    seeds: ['[{"kind":"slow","ms":100,"version":"3.2"}]'],
    run: async (input) => new Faults(await readFaults(at('/f', input), '/f'), '3.2.32').find('slow'),
  },
  {
    name: 'record of a simulated cluster',
    seeds: [
      '{"simulated":true,"directory":"/r","options":{"members":1,"version":"3.2.32","newVersion":"3.3.27","word":"kv"},"members":[{"name":"n1","clientUrl":"http://127.0.0.1:1","peerUrl":"http://127.0.0.1:2","dataDir":"/r/d","pidFile":"/r/p","logFile":"/r/l","args":["a"]}]}',
    ],
    run: (input) => program(['mock', 'kv', 'status', '--dir', '/r'], { '/r/rehearsal.json': text(input) }),
  },
  {
    name: 'keys of a simulated cluster',
    seeds: ['{"revision":5,"keys":[{"key":"a","value":"b"}]}'],
    run: (input) => readContent(at('/k', input), '/k'),
  },
  {
    name: 'manifest of a snapshot',
    seeds: [
      '{"format":1,"cluster":"c","member":"m","taken_at":"2026-01-01T00:00:00Z","revision":5,"total_key":1,"hash":"1","size_bytes":5,"file_sha256":"a"}',
      'prod-20261122T040000Z-r1234.db',
    ],
    run: (input) => [parseManifest(text(input)), parseName(text(input))],
  },
  {
    name: 'fleet file',
    seeds: ['name: f\ncanary: a.yaml\nat_once: 2\nclusters: [a.yaml, b.yaml]\n'],
    run: (input) => readFleet(at('/f.yaml', input), '/f.yaml'),
  },
  {
    name: 'fleet journal',
    seeds: [
      '{"kind":"opened","at":"x","fleet":"f","clusters":["a"]}\n{"kind":"began","at":"x","cluster":"a"}\n{"kind":"ended","at":"x","cluster":"a","outcome":"done","message":"m"}\n',
    ],
    run: async (input) => {
      const { before } = await openFleetJournal(at('/f/journal.jsonl', input), '/f');
      return [inProgress(before), completedClusters(before)];
    },
  },
  {
    name: 'operation journal',
    seeds: [operation],
    run: async (input) => {
      const host = at(`${clusters}/shop/operations/${RUN}/journal.jsonl`, input);
      await unfinishedOperation(host, clusters, 'shop');
      return (await findOperations(host, clusters, 'shop')).map(operationRow);
    },
  },
  {
    name: 'history',
    seeds: [
      `{"at":"2026-01-01T00:00:00Z","kind":"opened","action":"upgrade","plan":${plan},"owner":${owner}}\n{"at":"2026-01-01T00:00:01Z","kind":"resumed","action":"rollback","owner":${owner}}\n{"at":"2026-01-01T00:00:02Z","kind":"closed","outcome":"done","message":"m"}\n`,
    ],
    run: async (input) => {
      const host = at(`${clusters}/shop/${RUN}/journal.jsonl`, input);
      return (await findRuns(host, clusters, 'shop')).map(historyRow);
    },
  },
  {
    name: 'shared progress',
    seeds: [
      `{"format":1,"cluster":"shop","run":"${RUN}","written_at":"x","entries":[{"kind":"opened","at":"x","owner":${owner},"plan":${plan}}]}`,
    ],
    run: (input) =>
      sharedRun(
        { host: at('/d/shop.upgrade-progress.json', input), cluster: clusterOf('/d'), stores: [] },
        clusters,
      ),
  },
  {
    name: 'placements',
    seeds: ['{"3.2":{"member":"n1","previous":{"minor":"3.2","program":"/a"},"next":{"minor":"3.3"}}}'],
    run: (input) =>
      placementOf(
        { host: at(`${clusters}/shop/placements/n1.json`, input), directory: `${clusters}/shop/${RUN}` },
        'n1',
        '3.2',
      ),
  },
  {
    name: 'restore journal',
    seeds: [
      '{"at":"x","kind":"opened","to":"3.3","snapshot":"/s","file_sha256":"a","members":["n1"]}\n{"at":"x","kind":"stopping"}\n{"at":"x","kind":"swapped","member":"n1","kept":"/k"}\n{"at":"x","kind":"failed","reason":"r"}\n',
    ],
    run: async (input) =>
      restoreLine(await readRestore(at(`${clusters}/shop/restore.jsonl`, input), clusters, 'shop')),
  },
  {
    name: 'report',
    seeds: [report],
    run: async (input) => {
      const stored = await readReport(at('/r/report.json', input), '/r');
      if (stored !== undefined)
        [markdownFrom(stored.report), pageFrom(stored.report, wholeRun(stored.events))];
    },
  },
  {
    name: 'events',
    seeds: [
      `{"event":"run-started","at":"2026-01-01T00:00:00Z","run":"r","plan":${plan}}\n{"event":"step-started","at":"2026-01-01T00:00:01Z","step":{"id":"n1.stop","title":"t"},"number":1,"count":2}\n{"event":"gate-check","at":"2026-01-01T00:00:02Z","member":"n1","check":"health","ok":true,"detail":"d"}\n{"event":"member-down","at":"2026-01-01T00:00:02Z","member":"n1","was_leader":true}\n{"event":"canary","at":"2026-01-01T00:00:02Z","writes":1,"failed":0,"longest_gap_ms":1}\n{"event":"note","at":"2026-01-01T00:00:03Z","level":"info","text":"x"}\n`,
    ],
    run: async (input) => {
      const host = fakeHost({ files: { '/r/report.json': report, '/r/events.ndjson': text(input) } });
      const stored = await readReport(host, '/r');
      if (stored !== undefined) pageFrom(stored.report, wholeRun(stored.events));
    },
  },
];
