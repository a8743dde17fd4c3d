import { readFileSync, readdirSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { buildSync } from 'esbuild';
import { parseAst } from 'rolldown/parseAst';
import { beforeAll, expect, test } from 'vitest';
import { covers } from './support/covers.ts';

const root = new URL('../', import.meta.url).pathname;

/** The layers of src from top to bottom (ARCHITECTURE.md). A file may import from its own folder and from the folders below it. */
const layers = [
  'testing',
  'commands',
  'cli',
  'support',
  'tracker',
  'labels',
  'auth',
  'kv',
  'mock-server',
  'etcd-sim',
  'output',
  'reference',
  'api',
  'config',
  'platform',
  'api-specs',
  'core',
] as const;
type Layer = (typeof layers)[number];
/** Folders that must not import each other although one is above the other, and what to do instead. */
const apart: readonly { from: Layer; to: readonly Layer[]; except?: RegExp; instead: string }[] = [
  {
    from: 'mock-server',
    to: ['etcd-sim', 'output', 'api', 'config'],
    instead:
      'The mock server meets a client over HTTP only: a rule that both need belongs to core/, a table to api-specs/.',
  },
  {
    from: 'etcd-sim',
    to: ['output', 'reference', 'api', 'config'],
    instead: 'The simulated cluster is a program of its own.',
  },
  {
    from: 'kv',
    to: ['mock-server', 'etcd-sim', 'output'],
    instead: 'An upgrade knows members only through kv/client and a driver.',
  },
  {
    from: 'auth',
    to: ['kv', 'mock-server', 'etcd-sim'],
    instead: 'Sign-in uses api/ and the host.',
  },
  {
    from: 'labels',
    to: ['kv', 'mock-server', 'etcd-sim'],
    instead: 'An engine reaches its service through Api.',
  },
  {
    from: 'tracker',
    to: ['kv', 'labels', 'mock-server', 'etcd-sim'],
    instead: 'An engine reaches its service through Api.',
  },
  {
    from: 'output',
    to: ['reference', 'api', 'config'],
    instead: 'Output renders values; it decides nothing.',
  },
  {
    from: 'reference',
    to: ['api', 'config', 'platform'],
    instead: 'Documents are derived from tables alone.',
  },
  {
    from: 'cli',
    to: ['mock-server', 'etcd-sim'],
    instead: 'Only commands/target.ts and commands/mock start the mock server.',
  },
  {
    from: 'commands',
    to: ['mock-server', 'etcd-sim'],
    except: /^commands\/(target\.ts|mock\/)/,
    instead: 'Only commands/target.ts and commands/mock start the mock server.',
  },
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
  'node:stream',
]);
/** Small pure packages. Exactly one file wraps each package and imports it lazily. */
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
  '@opentelemetry/api',
  '@opentelemetry/otlp-transformer',
  '@opentelemetry/resources',
  '@opentelemetry/sdk-trace',
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
});

const layerOf = (file: string): number => (layers as readonly string[]).indexOf(file.split('/')[0] as string);

test('every file belongs to a layer', () => {
  expect(files.filter((file) => !entries.has(file) && layerOf(file) < 0)).toEqual([]);
});

/** Returns the reason why an import is not allowed, or undefined. */
const wrongImport = (from: string, to: string): string | undefined => {
  const [above, below] = [layerOf(from), layerOf(to)];
  if (below < above)
    return `${from} imports ${to}, which stands above it: move what both need down, or pass it in.`;
  const row = apart.find(
    (one) => one.from === layers[above] && (one.to as readonly string[]).includes(layers[below] as string),
  );
  return row === undefined || (row.except?.test(from) ?? false)
    ? undefined
    : `${from} imports ${to}. ${row.instead}`;
};

test('layers import only what is below them', () => {
  const wrong = edges
    .filter((edge) => !edge.external && !entries.has(edge.from) && !entries.has(edge.to))
    .flatMap(({ from, to }) => wrongImport(from, to) ?? []);
  expect(wrong).toEqual([]);
});

test('types are imported only from below as well', () => {
  const wrong = files
    .filter((file) => !entries.has(file))
    .flatMap((from) =>
      [...text(from).matchAll(/(?:from |import\()'(\.[^']+)'/g)].flatMap(([, target = '']) => {
        const to = join(dirname(from), target);
        return layerOf(to) < 0 || entries.has(to) ? [] : (wrongImport(from, to) ?? []);
      }),
    );
  expect([...new Set(wrong)]).toEqual([]);
});

test('an engine takes the machine and the services, and names the part of the console that it uses', () => {
  const takesAll = (code: string): boolean =>
    /import (?:type )?\{[^}]*\bContext\b[^}]*\} from '[^']*\/context\.ts'/.test(code);
  expect(takesAll("import type { Context, Runtime } from '../api/context.ts';")).toBe(true);
  expect(takesAll("import type { EngineContext } from '../api/context.ts';")).toBe(false);
  const engines = files.filter((file) =>
    /^(?:support|tracker|labels|auth|kv|config|output|reference)\//.test(file),
  );
  const found = engines.filter((file) => takesAll(text(file)));
  expect(found, 'take Runtime or EngineContext, with Prompts or Display').toEqual([]);
});

type Graph = Map<string, Set<string>>;
const tie = (graph: Graph, from: string, to: string): void =>
  void graph.set(from, (graph.get(from) ?? new Set()).add(to));
/** Returns each import cycle once, as a line of arrows. */
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

test('no directory depends on a neighbor that depends on it, not even by a type', () => {
  // Dependencies between the entries of a directory, grouped by the directory in which the paths of the two files
  // diverge.
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

test('packages are used only by the allowed files', () => {
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

test('only one file loads YAML and only one file escapes markup', () => {
  const yaml = edges.filter(({ external, to }) => external && to === 'yaml').map(({ from }) => from);
  expect([...new Set(yaml)], 'use platform/yaml.ts').toEqual(['platform/yaml.ts']);
  const escapers = files.filter((file) => /['"`]&quot;['"`]/.test(text(file)));
  expect(escapers, 'use core/text.ts').toEqual(['core/text.ts']);
});

/** Returns every file that is loaded together with a file: its top-level imports and their top-level imports, transitively. */
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

test(
  'a list of commands loads no engine: help and completion of a group need none',
  covers('spec/program#startup-1'),
  () => {
    const lists = ['commands/login.ts', 'commands/auth/checks.ts', 'commands/kv/commands.ts'];
    const engines =
      /^(auth\/(conformance|credential-store|loopback|protocol)\/|auth\/login\/plan|kv\/client\/(connection|etcd-client|snapshot)|kv\/upgrade\/(execute|observe|present|restore)\/|kv\/upgrade\/(decide|cluster\/cluster-file)|kv\/operations\/|output\/)/;
    const allowed = new Set(['output/types.ts']);
    const wrong = lists.flatMap((list) =>
      [...eager(list)]
        .filter((file) => engines.test(file) && !allowed.has(file))
        .map((file) => `${list} loads ${file}: use await import() in the body of the command.`),
    );
    expect(wrong).toEqual([]);
  },
);

test('the loop of an upgrade has as many files in its folder as ARCHITECTURE.md says', () => {
  const folder = 'kv/upgrade/execute/';
  const own = [...eager(`${folder}loop.ts`)].filter((file) => file.startsWith(folder));
  expect(new Set([...own, `${folder}loop.ts`]).size, 'correct item 3 of the life of an upgrade').toBe(10);
});

test('the forms of an upgrade read the model of the run instead of its events and its journal', () => {
  const readers: Readonly<Record<string, string>> = {
    'run-model.ts': 'folds the events',
    'journal-events.ts': 'converts a journal into events',
    'notify.ts': 'passes each event to the model, and sends notices',
    'report.ts': 'stores the events, and joins the parts of a run',
    'live.ts': 'passes each event to the model, and prints it',
    'status.ts': 'describes a run that may be unfinished, from its journal',
  };
  const wrong = files
    .filter((file) => file.startsWith('kv/upgrade/present/') && !(file.slice(19) in readers))
    .filter((file) => /\b(UpgradeEvent|EventBody|Unstamped|JournalEntry|FoundRun)\b/.test(text(file)))
    .map((file) => `${file}: read RunModel of run-model.ts, and add a missing fact there.`);
  expect(wrong).toEqual([]);
  const folds = files.filter((file) => /\bcase 'step-started'|=== 'member-down'/.test(text(file)));
  expect(folds.filter((file) => file.startsWith('kv/upgrade/present/')).sort()).toEqual([
    'kv/upgrade/present/live.ts',
    'kv/upgrade/present/run-model.ts',
  ]);
});

test('no regular expression with a property of Unicode is made at the start of a command', () => {
  // V8 reads the sets of Unicode when it makes the expression, which takes up to a millisecond.
  const made = /^(?:export )?const \w+(?:: [^=]+)? =\s*\/.*\\p\{/m;
  const starts = [...eager('main.ts'), ...eager('cli/execute.ts'), ...eager('output/render.ts')];
  const wrong = [...new Set(starts)]
    .filter((file) => files.includes(file) && made.test(text(file)))
    .map((file) => `${file}: make the expression in the function that uses it.`);
  expect(wrong).toEqual([]);
});

test('durations and sizes have one form each', () => {
  const other = /toFixed\([0-9]\)\} (?:m?s|[KMG]iB|[kMG]B)\b|Math\.\w+\([^`]{0,60}?1000\)+\} s\b/;
  const allowed: ReadonlySet<string> = new Set(['core/format.ts']);
  const wrong = files
    .filter((file) => !allowed.has(file) && other.test(text(file)))
    .map((file) => `${file}: use durationText, secondsText or sizeText of core/format.ts.`);
  expect(wrong).toEqual([]);
});

test('a count with its noun is written by one function', () => {
  const written = /\$\{([\w.#]+)\} (?:\w+ ?)?\$\{\1 === 1 \? '(\w{3})[^']*' : '\2|=== 1 \? '' : 's'/;
  const wrong = files
    .filter((file) => file !== 'core/format.ts' && written.test(text(file)))
    .map((file) => `${file}: use countText of core/format.ts.`);
  expect(wrong).toEqual([]);
});

test('the writes of a canary are counted in one function', () => {
  const counts = files.filter((file) => /longestGapMs: Math\.max|failed: \w+\.failed \+ 1/.test(text(file)));
  expect(counts).toEqual(['kv/upgrade/present/report.ts', 'kv/upgrade/present/run-model.ts']);
});

test('a function that checks a URL uses the parsed URL instead of parsing the text again', () => {
  const again = /parseUrl\(([\w.]+)\) (?:===|!==) undefined[\s\S]{0,300}?new URL\(\1\)/;
  const wrong = files
    .filter((file) => again.test(text(file)))
    .map((file) => `${file}: const url = parseUrl(text), then compare url with undefined.`);
  expect(wrong).toEqual([]);
});

test('only the host and the entries access the machine', () => {
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

test('only signalRecorded signals a process from a file', () => {
  // Each of these files signals its own child process, or a process whose command line it has checked on this machine.
  const checked = [
    'platform/process-identity.ts',
    'commands/mock/serve.ts',
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

test('only waysPast suggests ending a process by its ID', () => {
  const wrong = files.filter(
    (file) =>
      /`[^`]*\b(kill|end process) \$\{/.test(text(file)) &&
      file !== 'platform/process-identity.ts' &&
      !file.startsWith('kv/upgrade/supervisors/'),
  );
  expect(wrong, 'use waysPast').toEqual([]);
});

test.each([
  ['core/text.ts', 'withoutByteOrderMark', String.raw`/^\uFEFF/`],
  ['core/text.ts', 'escapePattern', 'replace(/[.*+?^$'],
  ['core/text.ts', 'pemText', '.{1,64}/g'],
  ['core/text.ts', 'encodeStrictly', "[!'()*]"],
  ['core/external-url.ts', 'hostWithoutBrackets', String.raw`/^\[|\]$/g`],
  ['core/external-url.ts', 'hasIpv4Form', String.raw`/^\d+(\.\d+){3}$/`],
  ['core/operation.ts', 'isHeaderName', "/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/"],
  ['core/operation.ts', 'isHeaderValue', String.raw`/^[\t\x20-\x7e\x80-\xff]*$/`],
  ['core/format.ts', 'isUuid', '[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}'],
  ['core/format.ts', 'isEmail', String.raw`/^[^\s@]+@[^\s@]+$/`],
  ['core/flag.ts', 'argumentName', '/-public-id$/'],
  ['core/shell.ts', 'shellWord', String.raw`/^[\w@%+=:,./-]+$/`],
  ['core/yaml.ts', 'stepsOfPath', String.raw`([^.[\]]+)|\[(\d+)\]`],
  ['core/yaml.ts', 'causeWithoutPlace', String.raw`at line \d+, column \d+`],
  ['mock-server/body.ts', 'JSON_TYPE', "'application/json; charset=utf-8'"],
  ['kv/engine/journal.ts', 'startsWithRunTime', String.raw`/^\d{8}T\d{6}Z/`],
])('only %s has the pattern of %s', (home, _name, pattern) => {
  expect(files.filter((file) => text(file).includes(pattern))).toEqual([home]);
});

/** Lists files that a reader may want to split or merge. The test does not fail because of them. */
test('long files and small files with one importer are listed', () => {
  const importers = new Map<string, Set<string>>();
  for (const { from, to, external } of edges) if (!external) tie(importers, to, from);
  const lines = (file: string): number => text(file).split('\n').length;
  const long = files.filter((file) => lines(file) > 450).map((file) => `${file} has ${lines(file)} lines`);
  const small = files
    .filter((file) => !entries.has(file) && lines(file) < 40 && importers.get(file)?.size === 1)
    .map((file) => `${file} has ${lines(file)} lines and one importer`);
  if (process.env.OPSCTL_LIST_FILES !== undefined)
    process.stdout.write([...long, ...small].map((line) => `${line}\n`).join(''));
  expect(files.length).toBeLessThanOrEqual(480);
  expect(small.length).toBeLessThanOrEqual(60);
});

type Node = { readonly type: string; readonly start: number; readonly end: number } & Record<string, unknown>;
const isNode = (value: unknown): value is Node => typeof (value as Node | null)?.type === 'string';
const nameIn = (node: Node): string | undefined =>
  ((node.id ?? node.key) as { name?: string } | null | undefined)?.name;
const MOST_LINES = 40;

/** Returns the functions of a source text that exceed the maximum length, each with the name that identifies it. */
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

test('a long function is found at any position', () => {
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

test('names describe actions, and no file has a default export', () => {
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

test('the properties of a format are read from its row', () => {
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

test('a wrapper of a part of Host names each method, so that a new method does not compile without a decision', () => {
  const spreads = files.flatMap((file) =>
    [...text(file).matchAll(/\.\.\.(?:\w+\.)+(?:network|processes|files|terminal)\b(?![.(])/g)].map(
      ([found]) => `src/${file}: ${found}`,
    ),
  );
  expect(spreads).toEqual([]);
});

test('a host that is changed inherits from the old one, because a spread loses what the old one inherits', () => {
  const spread = /\.\.\.(?:(?:(?:this\.#?)?\w+\.)*(?:context|run|caller)\.|this\.#?)?host\b(?![.?(])/g;
  const matches = (code: string): string[] => code.match(spread) ?? [];
  expect(['{ ...host, env }', '{ ...context.host }', '{ ...this.#host }'].flatMap(matches)).toHaveLength(3);
  expect(['{ ...host.processes.scope() }', '{ ...host?.environment }'].flatMap(matches)).toEqual([]);
  const wrong = files.flatMap((file) => matches(text(file)).map((found) => `src/${file}: ${found}`));
  expect(wrong, 'use Object.create(host, { part: { value, enumerable: true } })').toEqual([]);
});

/** A confirmation that no code waits for lets the change begin before its answer. */
test('every confirmation is awaited or returned', () => {
  const asks = /\.confirm\(/;
  const isWaitedFor = /(?:await |return |=> |\? |: )(?:\(await [^)]*\)\)?|[\w.]*)\.confirm\(/;
  const lines = files.flatMap((file) =>
    text(file)
      .split('\n')
      .map((line, i, all) => ({ at: `${file}:${i + 1}`, line, before: all[i - 1] ?? '' })),
  );
  const found = lines.filter(({ line }) => asks.test(line));
  expect(found.length).toBeGreaterThan(20);
  const isIgnored = ({ line, before }: (typeof lines)[number]): boolean =>
    /\bvoid [\w.]+\.confirm\(/.test(line) ||
    (!isWaitedFor.test(line) && !/(?:=>|return|[=?:(])$/.test(before.trimEnd()));
  expect(found.filter(isIgnored).map(({ at }) => at)).toEqual([]);
});
