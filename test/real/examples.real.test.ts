/** Pages of the documentation show the output that their commands print. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { type Block, blocksOf, commandsOf } from '../docs/pages.ts';
import { program } from '../support/built-program.ts';
import { shellSession } from '../support/shell-session.ts';

type Example = {
  readonly command: string;
  readonly output: readonly string[];
  /** The output is that of this command and of so many commands before it. */
  readonly before?: number;
};

/** The commands of a block, each with the lines that follow it. Lines with `...` stand for any output. */
const examplesOf = (block: Block): Example[] => {
  if (block.language !== 'console') return commandsOf(block).map((command) => ({ command, output: [] }));
  return block.text
    .split(/^\$ /m)
    .slice(1)
    .map((part) => {
      const [command = '', ...lines] = part.trimEnd().split('\n');
      return { command, output: lines.filter((line) => line.trim() !== '' && line !== '...') };
    });
};

/** A block of text below a block of commands shows lines that these commands print. */
const examplesOfPage = (page: string): Example[] => {
  const blocks = blocksOf(page);
  return blocks.flatMap((block, at) => {
    const examples = examplesOf(block);
    const [last, next] = [examples.at(-1), blocks[at + 1]];
    if (block.language !== 'sh' || last === undefined || next?.language !== 'text') return examples;
    const output = next.text.trimEnd().split('\n');
    return [...examples.slice(0, -1), { ...last, output, before: examples.length - 1 }];
  });
};

/** Replaces everything that differs from run to run: numbers other than versions, run IDs, digests, names of members. */
const withoutVariables = (line: string): string =>
  line
    .replace(/^\d\d:\d\d:\d\dZ/, '')
    .replace(/\d{8}T\d{6}Z-[\da-f]{4}/g, 'RUN')
    .replace(/\b[\da-f]{12,64}\b/g, 'HEX')
    // A duration of 3.4 s is not a version.
    .replace(/\b\d[\d,.]* (?:ms|s|min|h|KiB|MiB|GiB)\b(?: \d+ (?:s|min)\b)?/g, '#')
    .replace(/(?<![\d.])(?!3\.\d(?:\.\d+)?(?![\d.]))\d+(?:,\d{3})*(?:\.\d+)*/g, '#')
    .replace(/\bn#/g, 'MEMBER')
    .replace(/^members: /, '')
    .replace(/^(MEMBER .*) leader /, '$1 ')
    .replace(/ \(leader\)/g, '')
    .replace(/\s+/g, ' ')
    .trim()
    .split(' · ')
    .sort()
    .join(' · ');

/** The expected lines that the screen does not show. The order is free, because it depends on the leader. */
const missingLines = (expected: readonly string[], screen: string): string[] => {
  // A progress line that was erased remains in front of the text that replaced it.
  const actual = screen
    .split('\n')
    .map((line) => withoutVariables(line.replace(/^[\u2800-\u28ff] [a-z ]+/, '')));
  return expected.filter((line) => {
    const at = actual.indexOf(withoutVariables(line));
    if (at >= 0) actual.splice(at, 1);
    return at < 0;
  });
};

/** A log of a run on another machine may be cut, so the message starts with the lines that are missing. */
const missingText = (page: string, command: string, missing: readonly string[], shown: string): string =>
  [
    `${page} shows ${missing.length} lines that its commands did not print: ${missing.map((line) => JSON.stringify(line)).join(', ')}`,
    `after: ${command}`,
    shown,
  ].join('\n');

type Page = {
  readonly page: string;
  /** Commands that create what the page requires. */
  readonly before?: readonly string[];
  /** The reader's actions after a command, for example an edit. */
  readonly after?: Readonly<Record<string, string>>;
  /**
   * Commands that do not end with 0 on this page: the exit code of each occurrence, and the reason.
   * Every other command must succeed.
   */
  readonly exits?: Readonly<Record<string, { readonly codes: readonly number[]; readonly reason: string }>>;
  /** Values that the reader puts in place of words of the page. */
  readonly values?: Readonly<Record<string, string>>;
  /** The page shows the lines of a job. A terminal outside of CI shows a live table instead. */
  readonly isInCi?: boolean;
};
const cluster = [
  'opsctl mock kv start --members 3 --dir ./rehearsal --version 3.5.33 --new-version 3.6.14',
  'mkdir prod && cp rehearsal/cluster.yaml prod/cluster.yaml',
];
const server = ['opsctl mock start', 'eval "$(opsctl mock env)"'];
const changedByHand = `[{"updateLabel":{"properties":{"description":"Changed by hand"},"updateMask":"description"}}]`;
const pages: readonly Page[] = [
  { page: 'README.md' },
  {
    page: 'docs/tutorials/first-sign-in.md',
    exits: { 'opsctl auth status': { codes: [0, 4], reason: 'at the end, the reader is signed out' } },
  },
  {
    page: 'docs/tutorials/labels-in-git.md',
    exits: {
      'opsctl labels diff -f labels/': { codes: [20, 0], reason: 'the file was edited, then applied' },
    },
  },
  {
    page: 'docs/tutorials/first-upgrade.md',
    isInCi: true,
    exits: {
      'opsctl kv upgrade --yes --hold-after 1': { codes: [8], reason: 'the run holds' },
      'opsctl kv resume --yes --past-hold': { codes: [12], reason: 'the member that crashes is rolled back' },
    },
  },
  { page: 'docs/how-to/inject-faults.md' },
  {
    page: 'docs/how-to/bulk-changes.md',
    before: [
      'opsctl tracker labels create --name bug',
      'opsctl tracker labels create --name obsolete',
      `printf '%s\n' '{"op":"create","resource":"labels","name":"docs"}' '{"op":"update","resource":"labels","id":"bug","color":"#cc0000"}' '{"op":"delete","resource":"labels","id":"obsolete"}' > changes.ndjson`,
      `printf '%s\n' '{"external_id":"PROJ-1","name":"First story"}' > rows.ndjson`,
      `printf '%s\n' 'Issue key,Summary,Issue Type' 'PROJ-2,Second story,Story' > export.csv`,
    ],
    values: {
      RUN: `$(opsctl tracker bulk runs -o ndjson | head -n 1 | cut -d'"' -f4)`,
    },
  },
  {
    page: 'docs/how-to/manage-a-workspace-as-a-file.md',
    after: {
      'opsctl tracker export > workspace.yaml':
        "sed -i 's/First steps of a customer/Everything a new customer does first/' workspace.yaml",
    },
    exits: {
      'opsctl tracker diff -f workspace.yaml --out plan.json': { codes: [20], reason: 'not applied yet' },
      'opsctl tracker diff -f workspace.yaml --markdown > comment.md': {
        codes: [20],
        reason: 'not applied yet',
      },
      'opsctl tracker diff -f workspace.yaml': {
        codes: [20, 0],
        reason: 'the file was edited, then applied',
      },
    },
  },
  {
    page: 'docs/how-to/resolve-drift.md',
    before: [
      'opsctl labels export --all -f labels/ && opsctl labels adopt -f labels/',
      `opsctl labels delta Contract --requests '${changedByHand}' && opsctl labels publish Contract --yes`,
    ],
    exits: { 'opsctl labels diff -f labels/': { codes: [20, 0], reason: 'drift, then its resolution' } },
  },
  {
    page: 'docs/how-to/defragment-and-compact.md',
    before: [...cluster, 'for i in 1 2 3; do opsctl kv put k$i v --cluster prod/cluster.yaml; done'],
  },
  { page: 'docs/how-to/recover-from-nospace.md', before: cluster },
  {
    page: 'docs/how-to/after-an-upgrade.md',
    before: cluster,
    exits: {
      'opsctl kv upgrade --cluster prod/cluster.yaml --yes': { codes: [8], reason: 'the hold stops the run' },
    },
  },
  {
    page: 'docs/how-to/restore-keys.md',
    before: [
      ...cluster,
      'opsctl kv put /app/a 1 --cluster prod/cluster.yaml && opsctl kv put /app/b 2 --cluster prod/cluster.yaml',
    ],
    after: {
      'opsctl kv snapshot save backup.db --cluster prod/cluster.yaml':
        'opsctl kv put /app/a changed --cluster prod/cluster.yaml && opsctl kv del /app/b --cluster prod/cluster.yaml && opsctl kv put /app/c new --cluster prod/cluster.yaml',
    },
  },
  {
    page: 'docs/how-to/upgrade-a-stopped-cluster.md',
    // The way to 3.6 needs the etcdutl of a real etcd, which the simulator does not have.
    before: [
      'opsctl mock kv start --members 3 --dir ./rehearsal --version 3.4.42 --new-version 3.5.33',
      'mkdir prod && cp rehearsal/cluster.yaml prod/cluster.yaml',
      'opsctl mock kv stop --dir ./rehearsal',
    ],
  },
  {
    page: 'docs/how-to/upgrade-over-several-versions.md',
    before: [
      'opsctl mock kv start --dir ./rehearsal --monitor-ms 300 --later-version 3.4.23 --later-version 3.5.33 --later-version 3.6.14',
      'mkdir prod && cp rehearsal/cluster.yaml prod/cluster.yaml',
    ],
  },
  {
    page: 'docs/how-to/replace-a-member.md',
    before: cluster,
    values: {
      'replace-member n2 --cluster prod/cluster.yaml': 'replace-member n2 --cluster prod/cluster.yaml --yes',
    },
  },
  {
    page: 'docs/how-to/send-traces.md',
    before: cluster,
    values: {
      'https://collector.example.com:4318': 'http://localhost:4318',
      'upgrade --cluster cluster.yaml': 'upgrade --cluster prod/cluster.yaml --dry-run',
    },
  },
  {
    page: 'docs/how-to/record-and-replay.md',
    before: [
      ...server,
      `printf '%s\\n' '#!/bin/sh' 'opsctl tracker labels list -o name' > nightly-sync.sh && chmod +x nightly-sync.sh`,
    ],
    values: { 'https://tracker.example.com': '$OPSCTL_MOCK_URL' },
    exits: {
      'opsctl mock compare sync.cassette': {
        codes: [20],
        reason: 'the recorded workspace has labels that a fresh server does not have',
      },
    },
  },
  {
    page: 'docs/how-to/apply-labels-in-ci.md',
    before: [
      ...server,
      'opsctl labels export --all -f labels/ && opsctl labels adopt -f labels/ --deployment production',
    ],
    values: { 'https://labels.example.com': '$OPSCTL_LABELS_URL' },
  },
  {
    page: 'docs/how-to/test-against-the-mock-server.md',
    before: [
      `printf '%s\\n' '#!/bin/sh' 'opsctl tracker labels create --name bug -o name' > job-under-test.sh && chmod +x job-under-test.sh`,
    ],
    // The webhooks of the page need a running server.
    after: {
      'opsctl mock stop':
        'opsctl mock start && eval "$(opsctl mock env)" && opsctl tracker webhooks create --webhook-url http://127.0.0.1:9/hook -o name',
    },
  },
];
const isNpm = ({ command }: Example): boolean => command.startsWith('npm ');

test.concurrent.for(pages)(
  '$page shows the output of its commands',
  async ({ page, before = [], after = {}, exits = {}, values = {}, isInCi = false }, { expect }) => {
    const home = program();
    const cwd = join(home.home, 'empty');
    mkdirSync(cwd);
    const env = {
      ACCESSIBLE: '1',
      BROWSER: 'none',
      NO_COLOR: '1',
      OPSCTL_PAGER: '',
      GIT_CONFIG_GLOBAL: '/dev/null',
    };
    const job: Readonly<Record<string, string>> = isInCi ? { CI: '1' } : {};
    const author = {
      GIT_AUTHOR_NAME: 'a',
      GIT_AUTHOR_EMAIL: 'a@example.com',
      GIT_COMMITTER_NAME: 'a',
      GIT_COMMITTER_EMAIL: 'a@example.com',
    };
    const session = await shellSession('bash', { home: home.home, cwd, env: { ...env, ...job, ...author } });
    const examples = examplesOfPage(page).filter((example) => !isNpm(example));
    const screens: string[] = [];
    try {
      const steps: Example[] = [...before.map((command) => ({ command, output: [] })), ...examples];
      for (const [at, { command, output, before: earlier = 0 }] of steps.entries()) {
        const line = Object.entries(values).reduce((text, [word, is]) => text.replaceAll(word, is), command);
        const { codes = [] } = exits[command] ?? {};
        const expected = codes[steps.slice(0, at).filter((one) => one.command === command).length] ?? 0;
        const next = after[command] === undefined ? '' : `${after[command]}\r`;
        const screen = await session.type(
          `${line}\rcode=$?\r${next}echo done''-${at} exit=$code; code=\r`,
          new RegExp(`done-${at} exit=\\d+`),
        );
        const code = Number(screen.match(/done-\d+ exit=(\d+)/)?.[1]);
        screens.push(screen);
        const shown = screens.slice(-1 - earlier).join('\n');
        const missing = missingLines(output, shown);
        if (missing.length > 0) expect.fail(missingText(page, command, missing, shown));
        if (code !== expected)
          expect.fail(`${page}: exit code ${code}, not ${expected}, after: ${command}\n${shown}`);
      }
    } finally {
      await home.run(['mock', 'kv', 'stop', '--dir', join(cwd, 'rehearsal')]);
      await home.run(['mock', 'stop']);
      await session.close();
      await home.close();
    }
  },
);

test('an example with another word is missing, one with other numbers is not', () => {
  const screen = '[4/13] check that n1 is healthy\n  done in 1.2 s (version 3.3.27)\n';
  expect(
    missingLines(['[5/14] check that n2 is healthy', 'done in 850 ms (version 3.3.27)'], screen),
  ).toEqual([]);
  expect(missingLines(['done in 850 ms (version 3.4.42)'], screen)).toHaveLength(1);
  expect(missingLines(['check that n2 is fine'], screen)).toHaveLength(1);
  const slow =
    'members unavailable: n1 3.2 s, n2 1 min 05 s, n3 1 h 02 min\nwrites 1,075, longest gap 3.4 s\n';
  const fast = ['members unavailable: n1 785 ms, n2 83 ms, n3 1.5 s', 'writes 75, longest gap 243 ms'];
  expect(missingLines(fast, slow)).toEqual([]);
});
