/**
 * The 42 defects that the second review of the program found, by number: the command line that showed the defect, or the test of its fix.
 */

/** A line for bash, with the exit code and the expected text of the two streams. */
export type Line = {
  readonly line: string;
  readonly code: number;
  readonly out?: RegExp;
  readonly err?: RegExp;
  /** Text that neither stream may contain. */
  readonly never?: RegExp;
};
export type Proof = { readonly file: string; readonly title: string };
export type Defect = readonly [number: number, what: string, ...shown: (Line | Proof)[]];

const by = (file: string, title: string): Proof => ({ file: `test/${file}`, title });
/** Rejected as a usage error, with an empty stdout. */
const refused = (line: string, err: RegExp): Line => ({ line, code: 2, out: /^$/, err });

export const defects: readonly Defect[] = [
  [
    1,
    'a mistyped flag before the command was a green no-op',
    refused('opsctl --profle prod tracker apply -f /nonexistent', /--profle; did you mean --profile\?/),
    by('cli/misuse.test.ts', 'an unknown flag before, between or after the words of any command is refused'),
  ],
  [
    2,
    'the blocks of the README failed in zsh',
    by('real/readme.real.test.ts', 'no line of a block carries a comment'),
  ],
  [
    3,
    'ticks for what nobody could see',
    by('kv/upgrade/guards/seen-or-not.test.ts', "level === 'unknown' && message.includes(silent[0]"),
    {
      line: 'opsctl mock kv start --dir r -q >/dev/null && opsctl mock kv stop --dir r -q >/dev/null; opsctl kv check --cluster r/cluster.yaml -o table',
      code: 20,
      out: /\? unknown +quorum-survives[\s\S]*\? unknown +no-alarms/,
      never: /✓ pass +(quorum-survives|no-alarms|data-agrees|one-cluster)|--accept/,
    },
  ],
  [
    4,
    'a package from a fresh clone had no program',
    by('stories/packed.real.test.ts', 'the package contains exactly the program and its files'),
  ],
  [
    5,
    "TAB offered another profile's records",
    by('real/completion.real.test.ts', 'the profile of the line decides, and what is too old is not offered'),
  ],
  [
    6,
    'help did not know the width of the terminal',
    by('cli/help.test.ts', 'the usage of a command and its examples are on the first screen of 80 x 24'),
  ],
  [
    7,
    'tables cut ids',
    by('output/fit.test.ts', 'no line is longer than the terminal, and no id is cut or broken'),
  ],
  [
    8,
    'the progress of bulk was false',
    by('tracker/bulk/bulk.test.ts', 'progress counts rows done of rows known'),
  ],
  [9, 'fish offered files everywhere', by('real/completion.real.test.ts', 'and without files')],
  [
    10,
    'TAB had no descriptions',
    by('real/completion.real.test.ts', 'ids come with titles, and names with ids'),
    { line: "opsctl __describe tracker labels list --columns ''", code: 0, out: /^name\t/m },
  ],
  [
    11,
    'the cache of TAB was fed by name look-ups only',
    by(
      'real/completion.real.test.ts',
      'every list, create, rename and delete fills it, including in scripts',
    ),
  ],
  [
    12,
    'a token with a line end was sent four times',
    {
      line: `OPSCTL_TRACKER_URL=http://127.0.0.1:9 OPSCTL_TRACKER_TOKEN=$'a\\nb' opsctl tracker labels list`,
      code: 3,
      err: /OPSCTL_TRACKER_TOKEN/,
      never: /trying again/,
    },
    {
      line: 'OPSCTL_TRACKER_URL=http://127.0.0.1:9 OPSCTL_TRACKER_TOKEN=… opsctl tracker labels list',
      code: 3,
      err: /OPSCTL_TRACKER_TOKEN/,
      never: /trying again/,
    },
    {
      line: `OPSCTL_TRACKER_URL=http://127.0.0.1:9 OPSCTL_TRACKER_TOKEN=$'abc\\r\\n' opsctl tracker labels list --dry-run --jq .curl`,
      code: 0,
      never: /\\r|\\n/,
    },
  ],
  [
    13,
    'a mistyped label was made',
    refused('opsctl tracker epics create --name x --label typolabel', /typolabel/),
    by('commands/product.services.test.ts', 'a missing label is created only on request'),
  ],
  [
    14,
    'bad rows were "refused by the service"',
    by('commands/tracker/bulk-input.test.ts', 'a run of invalid rows exits with code 2'),
    {
      line: `echo '{"op":"create","resource":"lables","name":"x"}' | opsctl tracker bulk -f - --dry-run`,
      code: 2,
      out: /did you mean labels\?/,
    },
  ],
  [
    15,
    'errors of auth token were text under -o json',
    refused('opsctl auth token --min-ttl 10x -o json', /^\{"code":"USAGE".*"path":"--min-ttl"/),
  ],
  [16, 'the tour printed a line that a shell cuts at #', by('core/shell.test.ts', 'every line of the tour')],
  [17, 'kv plan printed paths with spaces bare', by('kv/upgrade/present/command-text.test.ts', 'shellLine')],
  [18, 'the walk-throughs of the README stopped', by('real/readme.real.test.ts', 'every block runs')],
  [
    19,
    'no exit code for a drift of labels',
    by('stories/labels-as-code.real.test.ts', 'a manual change in production is drift: diff reports it'),
    {
      line: "mkdir l && opsctl labels export --all -f l -q && sed -i '0,/^description:.*/s//description: other/' l/*.yaml && opsctl labels diff -f l",
      code: 20,
    },
  ],
  [20, 'missing values were not asked for', by('stories/asking.real.test.ts', 'asks for a missing name')],
  [
    21,
    '-v was no trace',
    by('stories/trace.real.test.ts', '--debug shows method, headers, bodies, time and a curl line'),
  ],
  [
    22,
    'commands was not the registry',
    by('stories/explain.real.test.ts', 'commands -o json is the complete registry'),
  ],
  [23, 'commands without an example', by('stories/examples.real.test.ts', 'every command shows an example')],
  [
    24,
    'a full device met the fast answers',
    ...['--help', '--version', '__complete tracker', 'tracker labels list'].map((words) => ({
      line: `opsctl ${words} >/dev/full`,
      code: words.startsWith('__') ? 0 : 3,
      never: /^ +at |internal error/m,
    })),
  ],
  [
    25,
    'no version, no topics',
    { line: 'opsctl version -o json', code: 0, out: /"runtime": "Node v/ },
    ...['output', 'configuration', 'ci', 'mock', 'upgrade', 'security', 'exit-codes'].map((topic) => ({
      line: `opsctl help ${topic}`,
      code: 0,
      out: /\S/,
    })),
    refused('opsctl help foo', /topics: .*exit-codes/),
  ],
  [26, 'the format of a pipe was not said', { line: 'opsctl help output', code: 0, out: /JSON in a pipe/ }],
  [
    27,
    'docs of an error was always null',
    by('stories/explain.real.test.ts', 'the docs of an error name a working command'),
  ],
  [
    28,
    'did-you-mean was uneven',
    refused('opsctl tracker labels list -o josn', /did you mean json\?/),
    refused('opsctl tracker stories create --name x --story-type bgu', /did you mean bug\?/),
    refused('opsctl api tracker GTE /labels', /did you mean GET\?/),
    refused('opsctl tracker labels create --nmae x', /did you mean --name\?/),
    refused('opsctl tracker labels create --naem x', /did you mean --name\?/),
    refused('opsctl reference tracker lables', /did you mean tracker labels\?/),
    refused('opsctl config get tracker.ulr', /did you mean tracker.url\?/),
    { ...refused('opsctl plugin', /"plugin"/), never: /login/ },
  ],
  [
    29,
    'an update without a change was sent',
    refused('opsctl tracker labels update onboarding', /try: opsctl tracker labels update onboarding --name/),
    refused('opsctl tracker labels list --columns foo', /--columns names `foo`/),
  ],
  [
    30,
    'a time limit of 0 and an unknown profile were taken',
    refused('opsctl tracker labels list --timeout 0', /--timeout .*greater than 0/),
    refused('opsctl tracker labels list --timeout 9999999999h', /at most 24 days/),
    {
      line: 'OPSCTL_TRACKER_URL=http://127.0.0.1:9 OPSCTL_TRACKER_TOKEN=x opsctl tracker labels list --profile nope',
      code: 3,
      err: /"nope".*--profile/,
    },
  ],
  [
    31,
    'words of a program in messages',
    refused('opsctl tracker labels list --limit abc', /--limit must be a whole number; got "abc"/),
    {
      ...refused('opsctl tracker labels update onboarding --unset name', /--unset must be one of color/),
      never: /\[0\]/,
    },
    refused(
      "opsctl tracker labels create --name '' --color zz",
      /--name must not be empty[\s\S]*--color must be/,
    ),
    {
      ...refused('opsctl tracker stories get 1.5', /must be a whole number; got "1\.5"/),
      never: /got number/,
    },
  ],
  [
    32,
    'a full disk was blamed on OPSCTL_HOME',
    {
      line: 'opsctl tracker export >/dev/full',
      code: 3,
      err: /cannot write to standard output: .*\(ENOSPC\)/,
      never: /OPSCTL_HOME/,
    },
  ],
  [
    33,
    'exit codes of wrong settings and programs',
    refused('opsctl config set tracker.url notaurl', /^error: tracker\.url is not a URL: "notaurl"\n {2}try/),
    refused('opsctl config set foo bar', /"foo"/),
    { line: 'opsctl mock run -- nosuchcmd', code: 127, err: /nosuchcmd/ },
  ],
  [
    34,
    'the variable of another mock server was not named',
    { line: 'opsctl mock requests', code: 3, err: /OPSCTL_MOCK_URL/ },
  ],
  [
    35,
    'signs that LANG=C has not',
    by('stories/kv-top.real.test.ts', 'kv top uses ASCII under LANG=C'),
    { line: 'LC_ALL=C opsctl doctor auth -o table', code: 0, never: /[^ -~\s]/ },
  ],
  [
    36,
    'the live table was torn by a resize',
    by('kv/upgrade/present/live.text.test.ts', 'shows the steps of each member at 40 columns too'),
  ],
  [
    37,
    'doctors had three vocabularies',
    by('commands/product.services.test.ts', 'every doctor reports pass, warn, fail or unknown'),
  ],
  [
    38,
    'a flag of its own hid the global --color',
    {
      line: 'opsctl tracker labels create --help',
      code: 0,
      out: /--color <#rrggbb>[\s\S]*--no-header, --color/,
    },
  ],
  [
    39,
    'the package said nothing about itself',
    by('stories/packed.real.test.ts', 'CHANGELOG.md'),
    by('stories/packed.real.test.ts', 'npm links every manual page'),
  ],
  [
    40,
    'flags alone, and groups with -o, were help with 0',
    refused('opsctl -o json', /"path":"<command>"/),
    refused('opsctl tracker -o json', /"path":"<command>"/),
  ],
  [
    41,
    'the report named two longest gaps',
    by('kv/upgrade/present/report.text.test.ts', 'names the same longest gap above the drawing and in it'),
  ],
  [
    42,
    'api had neither --paginate nor fields',
    by('stories/api-command.real.test.ts', '--paginate gives the rows of all pages as one list'),
    { line: 'opsctl api tracker POST /labels -f name=x --dry-run --jq .body.name', code: 0, out: /^x$/m },
  ],
];
