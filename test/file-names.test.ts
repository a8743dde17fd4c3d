import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { parseAst } from 'rolldown/parseAst';
import { expect, test } from 'vitest';

const root = new URL('../', import.meta.url).pathname;

/** Code that runs before or below the remaining code, or names that the code itself chooses, each with the reason. */
const exempt: Readonly<Record<string, string>> = {
  'core/file-name.ts': 'childPath itself',
  'crash.ts': 'reports a crash without the code that may have caused it; the name is a time and a pid',
  'complete.ts': 'TAB only reads, before anything else is loaded',
  'kv/upgrade/cluster/cluster-file.ts': 'paths that the cluster file of the user names',
  'kv/upgrade/fleet/fleet-file.ts': 'paths that the fleet file of the user names',
  'kv/upgrade/guards/configuration.ts': 'the data directory of a member, for a comparison',
  'labels/diff.ts': 'keys of a map',
  'labels/prepare.ts': 'keys of a map',
  'cli/rate-stores.ts': 'keys of the store',
  'config/settings.ts': 'the directories of the system; a profile goes through pathPart',
  'kv/upgrade/cluster/listening-sockets.ts': 'numbers that the kernel lists',
  'kv/upgrade/supervisors/path-status.ts': 'the last part of a path, below its real parent',
  'support/installation.ts': 'names that directories of the own package list',
  'platform/trust.ts': 'parts of a path that the operator named, and directories of PATH',
  'platform/node/': 'names of directory listings, ports, and temporary names next to a path',
};

type Node = { readonly type: string; readonly start: number; readonly [key: string]: any };

const walk = (node: unknown, visit: (node: Node) => void): void => {
  if (Array.isArray(node)) {
    for (const one of node) walk(one, visit);
    return;
  }
  if (typeof node !== 'object' || node === null) return;
  if (typeof (node as Node).type === 'string') visit(node as Node);
  for (const value of Object.values(node)) if (typeof value === 'object') walk(value, visit);
};

/** Returns the local names of the functions of node:path that join path segments. */
const joiners = (program: Node): { names: Map<string, string>; hasWhole: boolean } => {
  const names = new Map<string, string>();
  let hasWhole = false;
  for (const one of program['body'] as Node[]) {
    if (one.type !== 'ImportDeclaration' || !/^(node:)?path(\/|$)/.test(one['source'].value)) continue;
    for (const specifier of one['specifiers'] as Node[])
      if (specifier.type !== 'ImportSpecifier') hasWhole = true;
      else names.set(specifier['local'].name, specifier['imported'].name);
  }
  return { names, hasWhole };
};

/** Returns whether the source itself contains the segment as a literal or a constant. */
const isFixed = (node: Node): boolean =>
  (node.type === 'Literal' && typeof node['value'] === 'string') ||
  (node.type === 'TemplateLiteral' && (node['expressions'] as Node[]).every(isFixed)) ||
  (node.type === 'Identifier' && /^[A-Z][A-Z0-9_]*$/.test(node['name']));

const isSum = (node: Node): boolean => node.type === 'BinaryExpression' && node['operator'] === '+';
const operandsOf = (node: Node): Node[] =>
  isSum(node) ? [...operandsOf(node['left']), ...operandsOf(node['right'])] : [node];
const isText = (node: Node | undefined): boolean =>
  node?.type === 'Literal' && typeof node['value'] === 'string';
/** Matches `directory + '/' + name`: the same path in another notation. */
const isSummedPath = (source: string, node: Node): boolean => {
  const operands = isSum(node) ? operandsOf(node) : [];
  const [first, second] = operands;
  return (
    first !== undefined &&
    isText(second) &&
    String(second?.['value']).startsWith('/') &&
    /(dir|directory|home|root|state|cache)(\(\))?$/i.test(source.slice(first.start, first.end)) &&
    operands.slice(2).some((one) => !isFixed(one))
  );
};
/** Matches `${directory}/${name}`: a path that the code builds without childPath. */
const isBuiltPath = (node: Node): boolean => {
  if (node.type !== 'TemplateLiteral') return false;
  const quasis = (node['quasis'] as Node[]).map((one) => String(one['value'].cooked));
  return (node['expressions'] as Node[]).some(
    (one, i) => i > 0 && !isFixed(one) && quasis.slice(1, i + 1).some((text) => text.includes('/')),
  );
};
const startsWithDirectory = (source: string, node: Node): boolean => {
  const [first] = node['expressions'] as Node[];
  return (
    node['quasis'][0].value.cooked === '' &&
    first !== undefined &&
    /(dir|directory|home|root|state|cache)(\(\))?$/i.test(source.slice(first.start, first.end))
  );
};

/** Returns whether the path comes from the user and is relative to the working directory, or has only fixed segments. */
const isUserPath = (source: string, [first, ...parts]: Node[]): boolean =>
  first === undefined ||
  parts.every(isFixed) ||
  (parts.length === 1 && /cwd( \?\? '\/')?$/.test(source.slice(first.start, first.end)));

const fileFunctions =
  /^(read|readBytes|readNow|stream|openParts|replace|replaceStream|create|append|truncate|info|rename|copy|remove|makeDirectory)$/;

/** Returns the positions where a source builds a path from a name that is neither fixed nor a FileName. */
const unsafePaths = (source: string): string[] => {
  const program = parseAst(source, { lang: 'ts' }) as unknown as Node;
  const { names, hasWhole } = joiners(program);
  const found: string[] = hasWhole ? ['imports all of node:path: import the functions by name'] : [];
  walk(program, (node) => {
    const line = source.slice(0, node.start).split('\n').length;
    if (isBuiltPath(node) && startsWithDirectory(source, node))
      found.push(`line ${line}: a template that is a path`);
    if (isSummedPath(source, node)) found.push(`line ${line}: a sum that is a path`);
    if (node.type !== 'CallExpression') return;
    const [callee, args] = [node['callee'] as Node, node['arguments'] as Node[]];
    const joiner = callee.type === 'Identifier' ? names.get(callee['name']) : undefined;
    if (joiner === 'join' && !args.slice(1).every(isFixed))
      found.push(`line ${line}: join with a name that is not fixed`);
    if (joiner === 'resolve' && !isUserPath(source, args))
      found.push(`line ${line}: resolve with a name that is not fixed`);
    if (callee.type === 'MemberExpression' && fileFunctions.test(callee['property'].name ?? '')) {
      const isFiles = source.slice(callee['object'].start, callee['object'].end).endsWith('files');
      if (isFiles && args.some((one) => isBuiltPath(one) && !startsWithDirectory(source, one)))
        found.push(`line ${line}: a template that is a path`);
    }
  });
  return found;
};

const sources = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' }).filter((name) =>
  name.endsWith('.ts'),
);

test('no source builds a path from a name without childPath', () => {
  const found = sources
    .filter((name) => !Object.keys(exempt).some((part) => name.startsWith(part)))
    .flatMap((name) =>
      unsafePaths(readFileSync(join(root, 'src', name), 'utf8')).map((one) => `src/${name} ${one}`),
    );
  expect(found, 'use childPath(directory, safeFileName(text, otherwise)) of core/file-name.ts').toEqual([]);
});

test.each([
  "import { join } from 'node:path'; join(directory, name);",
  "import { join as put } from 'node:path'; put(directory, `${name}.pid`);",
  "import { join } from 'node:path/posix'; join(directory, 'a', ...names);",
  "import { join } from 'path'; join(directory, NAMES[0]);",
  "import path from 'node:path'; path.join(directory, name);",
  "import * as path from 'node:path'; path.join(directory, name);",
  'host.files.replace(`${directory}/${name}.pid`, text);',
  'const pidFile = (directory: string, name: string) => `${directory}/${name}.pid`;',
  "import { resolve } from 'node:path'; resolve(directory, name);",
  'await context.host.files.read(`${directory}/members/${name}`);',
  "host.files.read(directory + '/' + name);",
  "const path = context.stateDirectory() + '/runs/' + id;",
])('the rule finds %s', (source) => {
  expect(unsafePaths(source)).toHaveLength(1);
});

test.each([
  "import { join } from 'node:path'; join(directory, 'journal.jsonl');",
  "import { join } from 'node:path'; join(directory, LOCK_FILE, '..');",
  'host.files.replace(`${directory}/cluster.yaml`, text);',
  "import { resolve } from 'node:path'; resolve(host.cwd, values.out);",
  'host.files.readNow(`/proc/${pid}/cmdline`);',
  "host.files.read(directory + '/journal.jsonl');",
])('the rule allows %s', (source) => {
  expect(unsafePaths(source)).toEqual([]);
});

test('every exemption is needed', () => {
  for (const part of Object.keys(exempt)) {
    const found = sources
      .filter((name) => name.startsWith(part))
      .flatMap((name) => unsafePaths(readFileSync(join(root, 'src', name), 'utf8')));
    expect(found.length, part).toBeGreaterThan(0);
  }
});
