import { readFileSync, readdirSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { build } from 'esbuild';
import { parseAst } from 'rolldown/parseAst';
import { beforeAll, expect, test } from 'vitest';

const root = new URL('../', import.meta.url).pathname;

/** Who may import whom (ARCHITECTURE.md). The first matching row of `from` counts; `to` lists prefixes below src/. */
const layers: readonly { from: string; to: readonly string[]; instead: string }[] = [
  { from: 'kernel/', to: ['kernel/'], instead: 'The kernel knows nothing: move what it needs into it, or the code that needs more out of it.' },
  { from: 'services/', to: ['kernel/', 'services/'], instead: 'A table is data. Put behaviour into mock/ or client/.' },
  { from: 'host/host.ts', to: ['kernel/'], instead: 'The interface of the world has no implementation.' },
  { from: 'host/file-lock.ts', to: ['kernel/', 'host/host.ts'], instead: 'A lock file knows the interface of the world only.' },
  { from: 'host/node/', to: ['kernel/', 'host/'], instead: 'The host offers the machine; decisions belong above it.' },
  { from: 'client/', to: ['kernel/', 'services/', 'host/host.ts', 'client/'], instead: 'Client and mock meet on the wire only.' },
  {
    from: 'login/',
    to: ['kernel/', 'services/', 'host/host.ts', 'host/file-lock.ts', 'client/', 'login/'],
    instead: 'Sign-in uses client/ and the host.',
  },
  {
    from: 'upgrade/',
    to: ['kernel/', 'services/', 'host/host.ts', 'host/file-lock.ts', 'client/', 'upgrade/'],
    instead: 'The upgrade uses client/ and the host.',
  },
  {
    from: 'mock/',
    to: ['kernel/', 'services/', 'host/host.ts', 'host/file-lock.ts', 'mock/'],
    instead: 'The mock never sees the client: a rule both need is kernel/, a table is services/.',
  },
  { from: 'output/', to: ['kernel/', 'host/host.ts', 'output/'], instead: 'Output renders values; it decides nothing.' },
  { from: 'reference/', to: ['kernel/', 'services/', 'reference/'], instead: 'Documents are derived from tables alone.' },
  { from: 'config/', to: ['kernel/', 'host/host.ts', 'host/file-lock.ts', 'config/'], instead: 'Settings know files and environment only.' },
  {
    from: 'commands/mock/',
    to: ['kernel/', 'services/', 'host/host.ts', 'mock/', 'client/', 'config/', 'reference/', 'commands/', 'upgrade/'],
    instead: 'Only commands/mock and commands/target.ts start the mock.',
  },
  {
    from: 'commands/target.ts',
    to: ['kernel/', 'services/', 'host/host.ts', 'mock/', 'client/', 'config/', 'login/', 'commands/'],
    instead: 'target.ts is the one place where a command meets the mock.',
  },
  {
    from: 'commands/',
    to: ['kernel/', 'services/', 'host/host.ts', 'client/', 'login/', 'upgrade/', 'output/', 'reference/', 'config/', 'commands/'],
    instead: 'Ask for the service through the context; only commands/target.ts and commands/mock start the mock.',
  },
  {
    from: 'cli/',
    to: ['kernel/', 'host/host.ts', 'client/', 'output/', 'config/', 'cli/', 'commands/command.ts'],
    instead: 'Load a group by the manifest: `load: () => import(...)`.',
  },
];
/** Dynamic imports that a layer may have beyond its row. */
const lazily: readonly { from: string; to: string }[] = [
  { from: 'cli/', to: 'commands/' },
  { from: 'commands/', to: 'commands/' },
];
const entries = new Set(['main.ts', 'complete.ts', 'docs.ts']);
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
const purePackages = new Set(['yaml', 'oauth4webapi', 'chalk', 'jq-wasm', 'string-width', '@fastify/busboy', '@peculiar/x509', 'commander', 'conf']);

type Edge = { from: string; to: string; kind: string; external: boolean };
let edges: Edge[] = [];
const files: string[] = [];
const text = (file: string): string => readFileSync(join(root, 'src', file), 'utf8');

const walk = (folder: string): void => {
  for (const name of readdirSync(join(root, 'src', folder))) {
    const path = folder === '' ? name : `${folder}/${name}`;
    if (statSync(join(root, 'src', path)).isDirectory()) walk(path);
    else if (path.endsWith('.ts')) files.push(path);
  }
};

beforeAll(async () => {
  walk('');
  const result = await build({
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
    imports.map((i) => ({ from: from.replace(/^src\//, ''), to: i.path.replace(/^src\//, ''), kind: i.kind, external: i.external ?? false })),
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
      return !(kind === 'dynamic-import' && lazily.some((l) => from.startsWith(l.from) && to.startsWith(l.to)));
    })
    .map(({ from, to }) => `${from} imports ${to}. ${rowFor(from)?.instead}`);
  expect(wrong).toEqual([]);
});

type Graph = Map<string, Set<string>>;
const tie = (graph: Graph, from: string, to: string): void => void graph.set(from, (graph.get(from) ?? new Set()).add(to));
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

test('no file imports itself in a circle', () => {
  const graph: Graph = new Map();
  for (const { from, to, external, kind } of edges) if (!external && kind === 'import-statement') tie(graph, from, to);
  expect(circlesIn(graph), instead).toEqual([]);
});

test('no folder depends on a neighbour that depends on it, not even by a type', () => {
  // By the folder in which the ways to the two files part: which of its entries needs which.
  const neighbours = new Map<string, Graph>();
  for (const from of files)
    for (const [, target = ''] of text(from).matchAll(/^(?:import|export)\b[^'"]*?from '(\.[^']+)'/gm)) {
      const [one, other] = [from.split('/'), join(dirname(from), target).split('/')];
      const depth = one.findIndex((part, at) => part !== other[at]);
      const folder = one.slice(0, depth).join('/');
      const graph = neighbours.get(folder) ?? new Map();
      neighbours.set(folder, graph);
      tie(graph, one[depth] as string, other[depth] as string);
    }
  expect(neighbours.size).toBeGreaterThan(10);
  const circles = [...neighbours].flatMap(([folder, graph]) => circlesIn(graph).map((circle) => `${folder}: ${circle}`));
  expect(circles, instead).toEqual([]);
});

test('packages are used only where they may be', () => {
  const wrong = edges
    .filter(({ external, to, from }) => external && !packagesAnywhere.has(to) && !entries.has(from))
    .flatMap(({ from, to }) => {
      const name = to.startsWith('@') ? to.split('/').slice(0, 2).join('/') : (to.split('/')[0] ?? to);
      return from.startsWith('host/node/') || purePackages.has(name) ? [] : [`${from} imports ${to}: reach it through the host.`];
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
    .filter((file) => !file.startsWith('host/node/') && !entries.has(file))
    .flatMap((file) => {
      const code = text(file)
        .replace(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, '')
        .replace(/'[^'\n]*'|"[^"\n]*"/g, "''");
      return forbidden.filter(([pattern]) => pattern.test(code)).map(([pattern, instead]) => `${file} uses ${pattern.source}: use ${instead}`);
    });
  expect(wrong).toEqual([]);
});

test('files fit on a screen or two', () => {
  const long = files.flatMap((file) => {
    const lines = text(file).split('\n').length;
    const isTable = file.startsWith('services/') || /(page|template|seed|styles?|records)[^/]*\.ts$/.test(file);
    return lines > (isTable ? 400 : 300) ? [`${file} has ${lines} lines: split it by what happens in it.`] : [];
  });
  expect(long).toEqual([]);
});

type Node = { readonly type: string; readonly start: number; readonly end: number } & Record<string, unknown>;
const isNode = (value: unknown): value is Node => typeof (value as Node | null)?.type === 'string';
const nameIn = (node: Node): string | undefined => ((node.id ?? node.key) as { name?: string } | null | undefined)?.name;
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
  const body = (lines: number): string => Array.from({ length: lines }, (_, i) => `    step(${i});`).join('\n');
  const at = (lines: number): string => `export const maker = () => {\n  return {\n  run: (): void => {\n${body(lines)}\n  },\n  };\n};\n`;
  expect(longFunctions('a.ts', at(34))).toEqual([]);
  expect(longFunctions('a.ts', at(39)).map((line) => line.split(':')[1])).toEqual([' maker has 45 lines', ' run has 41 lines']);
});

test('names say what happens, and nothing is exported by default', () => {
  expect(files.filter((file) => /(^|[/-])(utils?|helpers?|managers?|common|misc)([-./]|$)/.test(file))).toEqual([]);
  expect(files.filter((file) => /^export default/m.test(text(file)))).toEqual([]);
  expect(files.filter((file) => !/^[a-z0-9-]+(\.d)?\.ts$/.test(file.split('/').at(-1) ?? ''))).toEqual([]);
});

test('module state does not change', () => {
  expect(
    files.filter((file) => !file.startsWith('host/node/') && /^(let|var) /m.test(text(file))),
    'Hold it in a value that is passed on.',
  ).toEqual([]);
});
