import { readFileSync, readdirSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { buildSync } from 'esbuild';
import { parseAst } from 'rolldown/parseAst';
import { beforeAll, expect, test } from 'vitest';

const root = new URL('../', import.meta.url).pathname;

/** Who may import whom (ARCHITECTURE.md). The first matching row of `from` counts; `to` lists prefixes below src/. */
const layers: readonly { from: string; to: readonly string[]; instead: string }[] = [
  {
    from: 'core/',
    to: ['core/'],
    instead: 'core/ imports nothing: move what it needs into it, or the code that needs more out of it.',
  },
  {
    from: 'api-specs/',
    to: ['core/', 'api-specs/'],
    instead: 'A table is data. Put behavior into mock-server/ or api/.',
  },
  { from: 'platform/host.ts', to: ['core/'], instead: 'The terminal of the Host has no implementation.' },
  { from: 'platform/host.ts', to: ['core/'], instead: 'The bucket of the Host has no implementation.' },
  { from: 'platform/host.ts', to: [], instead: 'A run of jq is a shape.' },
  {
    from: 'platform/host.ts',
    to: ['core/', 'platform/host.ts', 'platform/host.ts', 'platform/host.ts'],
    instead: 'The Host interface has no implementation.',
  },
  {
    from: 'platform/process-identity.ts',
    to: ['platform/host.ts'],
    instead: 'The identity of a process uses the Host interface only.',
  },
  {
    from: 'platform/trust.ts',
    to: ['core/', 'platform/host.ts'],
    instead: 'A path inside a directory is checked with the Host interface only.',
  },
  {
    from: 'platform/trust.ts',
    to: ['core/', 'platform/host.ts'],
    instead: 'The rule of trust uses the Host interface only.',
  },
  {
    from: 'platform/file-lock.ts',
    to: ['core/', 'platform/host.ts', 'platform/process-identity.ts'],
    instead: 'A lock file uses the Host interface only.',
  },
  {
    from: 'platform/node/',
    to: ['core/', 'platform/'],
    instead: 'The host offers the machine; decisions belong above it.',
  },
  {
    from: 'api/',
    to: ['core/', 'api-specs/', 'platform/', 'api/'],
    instead: 'Client and mock server meet over HTTP only.',
  },
  {
    from: 'kv/client/',
    to: ['core/', 'api-specs/', 'platform/', 'kv/client/'],
    instead: 'The etcd client knows requests and responses, not upgrades.',
  },
  {
    from: 'auth/',
    to: ['core/', 'api-specs/', 'platform/', 'api/', 'auth/'],
    instead:
      'Sign-in uses api/ and the host. Checks and the scripted consent of the demo use it, not the reverse.',
  },
  {
    from: 'auth/demo/',
    to: ['core/', 'api-specs/', 'platform/', 'auth/', 'auth/demo/'],
    instead: 'The scripted consent walks the pages of the embedded server over HTTP only.',
  },
  {
    from: 'auth/conformance/',
    to: ['core/', 'api-specs/', 'platform/', 'api/', 'auth/', 'auth/conformance/'],
    instead: 'Conformance checks use auth/ and the host.',
  },
  {
    from: 'kv/snapshots/',
    to: ['core/', 'platform/', 'kv/client/', 'kv/snapshots/'],
    instead: 'Stored snapshots know files, buckets and one member; which member is chosen above.',
  },
  {
    from: 'kv/upgrade/',
    to: ['core/', 'api-specs/', 'platform/', 'api/', 'kv/client/', 'kv/snapshots/', 'kv/upgrade/'],
    instead: 'The upgrade uses kv/client/ and the host.',
  },
  {
    from: 'kv/operations/',
    to: ['core/', 'api-specs/', 'platform/', 'kv/client/', 'kv/upgrade/', 'kv/operations/'],
    instead: 'Operations use what the upgrade has; the upgrade does not know them.',
  },
  {
    from: 'mock-server/',
    to: ['core/', 'api-specs/', 'platform/', 'mock-server/'],
    instead: 'The mock server never sees the client: a rule both need is in core/, a table in api-specs/.',
  },
  {
    from: 'etcd-sim/',
    to: ['core/', 'api-specs/', 'platform/', 'etcd-sim/'],
    instead: 'The simulated cluster is a program of its own.',
  },
  {
    from: 'output/',
    to: ['core/', 'platform/host.ts', 'output/'],
    instead: 'Output renders values; it decides nothing.',
  },
  {
    from: 'reference/',
    to: ['core/', 'api-specs/', 'reference/'],
    instead: 'Documents are derived from tables alone.',
  },
  {
    from: 'config/',
    to: ['core/', 'platform/', 'config/'],
    instead: 'Settings know files and environment only.',
  },
  {
    from: 'api/',
    to: ['core/', 'platform/host.ts', 'api/', 'kv/client/', 'api/'],
    instead: 'A rate store counts requests; who sends them is decided above.',
  },
  {
    from: 'login/',
    to: ['core/', 'api-specs/', 'platform/host.ts', 'auth/', 'auth/demo/', 'cli/', 'login/'],
    instead: 'What signing in is belongs to auth/.',
  },
  {
    from: 'auth/',
    to: ['core/', 'api-specs/', 'platform/host.ts', 'api/', 'auth/', 'cli/', 'auth/'],
    instead: 'An engine gets the service through the context.',
  },
  {
    from: 'labels/',
    to: ['core/', 'api-specs/', 'auth/', 'cli/', 'labels/'],
    instead: 'Access adds a token and a hint; what a call means is decided above.',
  },
  {
    from: 'support/',
    to: ['core/', 'platform/host.ts', 'api/', 'auth/', 'cli/', 'labels/', 'tracker/', 'support/'],
    instead: 'An engine gets the service through the context.',
  },
  {
    from: 'doctor/',
    to: [
      'core/',
      'api-specs/',
      'platform/host.ts',
      'config/',
      'output/redact.ts',
      'auth/',
      'login/',
      'cli/',
      'doctor/',
    ],
    instead: 'A doctor looks at the machine and asks; it repairs nothing.',
  },
  {
    from: 'explain/',
    to: ['core/', 'api-specs/', 'platform/host.ts', 'config/', 'cli/', 'cli/derived/', 'explain/'],
    instead: 'An explanation is derived from tables.',
  },
  {
    from: 'cli/mcp/',
    to: ['core/', 'platform/host.ts', 'cli/', 'cli/mcp/'],
    instead: 'A tool is a command that the program itself runs.',
  },
  {
    from: 'tour/',
    to: ['core/', 'platform/host.ts', 'cli/', 'tour/'],
    instead: 'The tour runs the program; it calls no engine.',
  },
  {
    from: 'names/',
    to: ['core/', 'api-specs/', 'platform/', 'cli/', 'names/'],
    instead: 'Name resolution asks the service through the context.',
  },
  {
    from: 'cli/derived/',
    to: ['core/', 'cli/', 'names/', 'cli/derived/'],
    instead: 'A command of a row asks the service through the context.',
  },
  {
    from: 'bulk/',
    to: ['core/', 'api-specs/', 'platform/', 'api/', 'cli/', 'names/', 'bulk/'],
    instead: 'An engine gets the service through the context.',
  },
  {
    from: 'workspace/',
    to: ['core/', 'api-specs/', 'platform/', 'api/', 'cli/', 'names/', 'workspace/'],
    instead: 'An engine gets the service through the context.',
  },
  {
    from: 'tracker/',
    to: [
      'core/',
      'api-specs/',
      'platform/host.ts',
      'api/',
      'auth/',
      'cli/',
      'names/',
      'cli/derived/',
      'tracker/',
    ],
    instead: 'An engine gets the service through the context.',
  },
  {
    from: 'labels/',
    to: ['core/', 'api-specs/', 'platform/', 'cli/', 'labels/'],
    instead: 'An engine gets the service through the context.',
  },
  {
    from: 'commands/mock/',
    to: [
      'core/',
      'api-specs/',
      'platform/host.ts',
      'mock-server/',
      'etcd-sim/',
      'api/',
      'kv/client/',
      'config/',
      'output/yaml-package.ts',
      'reference/',
      'cli/',
      'cli/derived/',
      'commands/',
      'kv/upgrade/',
    ],
    instead: 'Only commands/mock and commands/target.ts start the mock server.',
  },
  {
    from: 'commands/target.ts',
    to: [
      'core/',
      'api-specs/',
      'platform/host.ts',
      'mock-server/',
      'api/',
      'config/',
      'auth/',
      'cli/',
      'commands/',
    ],
    instead: 'target.ts is the one place where a command meets the mock server.',
  },
  {
    from: 'commands/',
    to: [
      'core/',
      'api-specs/',
      'platform/',
      'api/',
      'kv/client/',
      'auth/',
      'auth/conformance/',
      'auth/demo/',
      'login/',
      'auth/',
      'tour/',
      'cli/mcp/',
      'explain/',
      'doctor/',
      'support/',
      'labels/',
      'bulk/',
      'workspace/',
      'labels/',
      'names/',
      'cli/derived/',
      'tracker/',
      'kv/snapshots/',
      'kv/upgrade/',
      'kv/operations/',
      'output/',
      'reference/',
      'config/',
      'cli/',
      'commands/',
    ],
    instead:
      'Ask for the service through the context; only commands/target.ts and commands/mock start the mock server.',
  },
  {
    from: 'cli/',
    to: ['core/', 'platform/host.ts', 'api/', 'api/', 'output/', 'config/', 'cli/'],
    instead: 'Load a group by the manifest: `load: () => import(...)`.',
  },
];
/** Dynamic imports that a layer may have beyond its row. */
const lazily: readonly { from: string; to: string }[] = [
  { from: 'cli/', to: 'commands/' },
  { from: 'cli/', to: 'tracker/search.ts' },
  { from: 'commands/', to: 'commands/' },
];
const entries = new Set([
  'main.ts',
  'complete.ts',
  'docs.ts',
  'single-executable.ts',
  'testing.ts',
  'testing/api.d.ts',
  'crash.ts',
]);
const packagesAnywhere = new Set([
  'node:crypto',
  'node:path',
  'node:path/posix',
  'node:zlib',
  'node:util',
  'node:buffer',
  'node:string_decoder',
  'node:url',
  'node:tls',
  'node:stream',
]);
/** Small pure packages: lazily, in the one file that wraps each. */
const purePackages = new Set([
  'yaml',
  'oauth4webapi',
  'uqr',
  'chalk',
  'string-width',
  'mustache',
  'nanotar',
  '@modelcontextprotocol/sdk',
  '@fastify/busboy',
  '@peculiar/x509',
  'commander',
  'conf',
]);

type Edge = { from: string; to: string; kind: string; external: boolean };
let edges: Edge[] = [];
const files: string[] = [];
const text = (file: string): string => readFileSync(join(root, 'src', file), 'utf8');

const walk = (directory: string): void => {
  for (const name of readdirSync(join(root, 'src', directory))) {
    const path = directory === '' ? name : `${directory}/${name}`;
    if (statSync(join(root, 'src', path)).isDirectory()) walk(path);
    else if (path.endsWith('.ts')) files.push(path);
  }
};

beforeAll(() => {
  walk('');
  const result = buildSync({
    absWorkingDir: root,
    entryPoints: files.map((file) => `src/${file}`),
    bundle: true,
    write: false,
    metafile: true,
    outdir: 'out',
    format: 'esm',
    platform: 'node',
    splitting: true,
    packages: 'external',
    logLevel: 'silent',
  });
  edges = Object.entries(result.metafile.inputs).flatMap(([from, { imports }]) =>
    imports.map((i) => ({
      from: from.replace(/^src\//, ''),
      to: i.path.replace(/^src\//, ''),
      kind: i.kind,
      external: i.external ?? false,
    })),
  );
}, 120_000);

const rowFor = (file: string) => layers.find(({ from }) => file.startsWith(from));

test('every file has a layer', () => {
  expect(files.filter((file) => !entries.has(file) && rowFor(file) === undefined)).toEqual([]);
});

test('layers import only what is below them', () => {
  const wrong = edges
    .filter((edge) => !edge.external && !entries.has(edge.from))
    .filter(({ from, to, kind }) => {
      const row = rowFor(from);
      if (row?.to.some((prefix) => to.startsWith(prefix)) ?? false) return false;
      return !(
        kind === 'dynamic-import' && lazily.some((l) => from.startsWith(l.from) && to.startsWith(l.to))
      );
    })
    .map(({ from, to }) => `${from} imports ${to}. ${rowFor(from)?.instead}`);
  expect(wrong).toEqual([]);
});

type Graph = Map<string, Set<string>>;
const tie = (graph: Graph, from: string, to: string): void =>
  void graph.set(from, (graph.get(from) ?? new Set()).add(to));
/** Each circle once, as a line of arrows. */
const circlesIn = (graph: Graph): string[] => {
  const done = new Set<string>();
  const visit = (at: string, trail: string[]): string | undefined => {
    if (trail.includes(at)) return [...trail.slice(trail.indexOf(at)), at].join(' → ');
    if (done.has(at)) return undefined;
    done.add(at);
    for (const next of graph.get(at) ?? []) {
      const circle = visit(next, [...trail, at]);
      if (circle) return circle;
    }
    return undefined;
  };
  return [...graph.keys()].flatMap((at) => visit(at, []) ?? []);
};
const instead = 'Move what both need into a third file, or pass it as a parameter.';

test('no file imports itself in a circle, not even when it runs', () => {
  const graph: Graph = new Map();
  for (const { from, to, external, kind } of edges)
    if (!external && (kind === 'import-statement' || kind === 'dynamic-import')) tie(graph, from, to);
  expect(circlesIn(graph), instead).toEqual([]);
});

test('no directory depends on a neighbour that depends on it, not even by a type', () => {
  // By the directory in which the ways to the two files part: which of its entries needs which.
  const neighbours = new Map<string, Graph>();
  for (const from of files)
    for (const [, target = ''] of text(from).matchAll(/^(?:import|export)\b[^'"]*?from '(\.[^']+)'/gm)) {
      const [one, other] = [from.split('/'), join(dirname(from), target).split('/')];
      const depth = one.findIndex((part, at) => part !== other[at]);
      const directory = one.slice(0, depth).join('/');
      const graph = neighbours.get(directory) ?? new Map();
      neighbours.set(directory, graph);
      tie(graph, one[depth] as string, other[depth] as string);
    }
  expect(neighbours.size).toBeGreaterThan(10);
  const circles = [...neighbours].flatMap(([directory, graph]) =>
    circlesIn(graph).map((circle) => `${directory}: ${circle}`),
  );
  expect(circles, instead).toEqual([]);
});

test('packages are used only where they may be', () => {
  const wrong = edges
    .filter(({ external, to, from }) => external && !packagesAnywhere.has(to) && !entries.has(from))
    .flatMap(({ from, to }) => {
      const name = to.startsWith('@') ? to.split('/').slice(0, 2).join('/') : (to.split('/')[0] ?? to);
      return from.startsWith('platform/node/') || purePackages.has(name)
        ? []
        : [`${from} imports ${to}: reach it through the host.`];
    });
  expect(wrong).toEqual([]);
});

/** What is loaded together with a file: everything it imports at the top, and what that imports. */
const eager = (root: string): Set<string> => {
  const found = new Set<string>();
  const visit = (file: string): void => {
    for (const edge of edges) {
      if (edge.from !== file || edge.kind !== 'import-statement' || found.has(edge.to)) continue;
      found.add(edge.to);
      if (!edge.external) visit(edge.to);
    }
  };
  visit(root);
  return found;
};

test('no package is loaded before a command needs it', () => {
  const roots = [...entries, ...files.filter((file) => /^commands\/(\w[\w-]*|.+\/commands)\.ts$/.test(file))];
  const wrong = roots.flatMap((root) =>
    [...eager(root)]
      .filter((name) => edges.some((edge) => edge.external && edge.to === name) && !name.startsWith('node:'))
      .map((name) => `${root} loads ${name} at once: use await import() in the function that needs it.`),
  );
  expect(wrong).toEqual([]);
});

test('only the host and the entries touch the machine', () => {
  const forbidden: readonly [RegExp, string][] = [
    [/\bprocess\.(?!versions)/, 'host.env, host.terminal, host.pid …'],
    [/\bconsole\./, 'ctx.say or a Result'],
    [/\bDate\.now\(|\bnew Date\(\)/, 'host.now()'],
    [/\bsetTimeout\(|\bsetInterval\(/, 'host.sleep()'],
    [/\bMath\.random\(/, 'host.random()'],
    [/(?<![.\w])fetch\(/, 'host.network.request()'],
    [/\bperformance\.now\(/, 'host.elapsed()'],
  ];
  const wrong = files
    .filter((file) => !file.startsWith('platform/node/') && !entries.has(file))
    .flatMap((file) => {
      const code = text(file)
        .replace(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, '')
        .replace(/'[^'\n]*'|"[^"\n]*"/g, "''");
      return forbidden
        .filter(([pattern]) => pattern.test(code))
        .map(([pattern, instead]) => `${file} uses ${pattern.source}: use ${instead}`);
    });
  expect(wrong).toEqual([]);
});

test('only signalRecorded signals a process that a file names', () => {
  // Each of these signals a child of its own, or a process whose command line it has checked on this machine.
  const checked = [
    'platform/process-identity.ts',
    'commands/mock/start-command.ts',
    'commands/mock/kv.ts',
    'etcd-sim/cluster/layout.ts',
    'kv/upgrade/supervisors/local.ts',
  ];
  const wrong = files.filter(
    (file) =>
      /\bprocesses\.signal\(/.test(text(file)) &&
      !checked.includes(file) &&
      !file.startsWith('platform/node/'),
  );
  expect(wrong, 'use signalRecorded: a process ID is valid within one machine and namespace').toEqual([]);
});

test('only waysPast advises to end a process by its ID', () => {
  const wrong = files.filter(
    (file) =>
      /`[^`]*\b(kill|end process) \$\{/.test(text(file)) &&
      file !== 'platform/process-identity.ts' &&
      !file.startsWith('kv/upgrade/supervisors/'),
  );
  expect(wrong, 'use waysPast').toEqual([]);
});

test('files fit on a screen or two', () => {
  const long = files.flatMap((file) => {
    const lines = text(file).split('\n').length;
    return lines > 400 ? [`${file} has ${lines} lines: split it by what happens in it.`] : [];
  });
  expect(long).toEqual([]);
});

test('a file of commands is flags, one call, one result', () => {
  const most = 120;
  const long = files
    .filter((file) => file.startsWith('commands/'))
    .map((file) => ({ file, lines: text(file).trimEnd().split('\n').length }))
    .filter(({ lines }) => lines > most)
    .map(({ file, lines }) => `${file} has ${lines} lines: move what decides or computes into an engine.`);
  expect(long).toEqual([]);
});

type Node = { readonly type: string; readonly start: number; readonly end: number } & Record<string, unknown>;
const isNode = (value: unknown): value is Node => typeof (value as Node | null)?.type === 'string';
const nameIn = (node: Node): string | undefined =>
  ((node.id ?? node.key) as { name?: string } | null | undefined)?.name;
const MOST_LINES = 40;

/** Functions of a text that are longer than they may be, with the name under which they are found. */
const longFunctions = (file: string, source: string): string[] => {
  const found: string[] = [];
  const visit = (value: unknown, name: string): void => {
    if (Array.isArray(value)) for (const one of value) visit(one, name);
    if (!isNode(value)) return;
    const called = nameIn(value) ?? name;
    const lines = source.slice(value.start, value.end).split('\n').length;
    if (/Function/.test(value.type) && isNode(value.body) && lines > MOST_LINES)
      found.push(`${file}: ${called} has ${lines} lines: give its parts names of their own.`);
    for (const part of Object.values(value)) visit(part, called);
  };
  if (source.split('\n').length > MOST_LINES) visit(parseAst(source, { lang: 'ts' }), '');
  return found;
};

test('functions fit on a screen', () => {
  expect(files.flatMap((file) => longFunctions(file, text(file)))).toEqual([]);
});

test('a long function is found, wherever it stands', () => {
  const body = (lines: number): string =>
    Array.from({ length: lines }, (_, i) => `    step(${i});`).join('\n');
  const at = (lines: number): string =>
    `export const maker = () => {\n  return {\n  run: (): void => {\n${body(lines)}\n  },\n  };\n};\n`;
  expect(longFunctions('a.ts', at(34))).toEqual([]);
  expect(longFunctions('a.ts', at(39)).map((line) => line.split(':')[1])).toEqual([
    ' maker has 45 lines',
    ' run has 41 lines',
  ]);
});

test('names say what happens, and nothing is exported by default', () => {
  expect(
    files.filter((file) => /(^|[/-])(utils?|helpers?|managers?|common|misc)([-./]|$)/.test(file)),
  ).toEqual([]);
  expect(files.filter((file) => /^export default/m.test(text(file)))).toEqual([]);
  expect(files.filter((file) => !/^[a-z0-9-]+(\.d)?\.ts$/.test(file.split('/').at(-1) ?? ''))).toEqual([]);
});

test('a command written by hand takes the types of its values from its flags', () => {
  const untyped = files
    .filter(
      (file) => file.startsWith('commands/') && /: (?:Command|Flags|Flag|Argument) = \{/.test(text(file)),
    )
    .map(
      (file) =>
        `${file}: write defineCommand({ … }), and \`as const satisfies Flags\` behind flags that stand alone.`,
    );
  expect(untyped).toEqual([]);
});

test('what a format is like is read from its row', () => {
  const compared = files
    .filter(
      (file) =>
        !file.startsWith('tracker/bulk/') &&
        /\bformat [!=]== '(?:table|json|ndjson|csv|name)'/.test(text(file)),
    )
    .map((file) => `${file}: ask formatRow(format) of core/format.ts, which the next format has too.`);
  expect(compared).toEqual([]);
});

test('module state does not change', () => {
  expect(
    files.filter((file) => !file.startsWith('platform/node/') && /^(let|var) /m.test(text(file))),
    'Hold it in a value that is passed on.',
  ).toEqual([]);
});
