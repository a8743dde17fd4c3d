import { expect, test } from 'vitest';
import {
  constantsOf,
  type Constants,
  isBuilt,
  type Node,
  type Piece,
  parseSource,
  piecesOf,
  readSources,
  walk,
} from './support/sources.ts';

/** Code that runs before or below the remaining code, or names that the code itself chooses, each with the reason. */
const exempt: Readonly<Record<string, string>> = {
  'core/file-name.ts': 'childPath itself',
  'crash.ts': 'reports a crash without the code that may have caused it; the name is a time and a pid',
  'complete.ts': 'TAB only reads, before anything else is loaded',
  'kv/upgrade/cluster/cluster-file.ts': 'paths that the cluster file of the user names',
  'kv/upgrade/fleet/fleet-file.ts': 'paths that the fleet file of the user names',
  'kv/upgrade/fleet/fleet-export.ts': 'paths in a container that cluster files name, only for a manifest',
  'kv/upgrade/guards/next-start.ts': 'the data directory of a member, for a comparison',
  'labels/diff.ts': 'keys of a map',
  'labels/prepare.ts': 'keys of a map',
  'cli/rate-stores.ts': 'keys of the store',
  'config/settings.ts': 'the directories of the system; a profile goes through pathPart',
  'kv/upgrade/cluster/listening-sockets.ts': 'numbers that the kernel lists',
  'kv/upgrade/configuration/units.ts':
    'names of units and of directory listings, for files that are only read',
  'kv/upgrade/configuration/sources.ts':
    'files next to a compose file, and the working directory of a unit, only to read them',
  'kv/upgrade/supervisors/driver.ts': 'the last part of a path, below its real parent',
  'support/installation.ts': 'names that directories of the own package list',
  'core/runnable-words.ts':
    'directories that the command line of an operator names, only to find its programs',
  'platform/trust.ts': 'parts of a path that the operator named, and directories of PATH',
  'platform/node/': 'names of directory listings, ports, and temporary names next to a path',
};
/** Sources that join addresses, IDs or counts with a slash. A name of a directory and a call of a file function count there too. */
const addresses: Readonly<Record<string, string>> = {
  'mock-server/': 'addresses and IDs of records',
  'reference/': 'addresses of documents',
  'api/rate.ts': 'the name of a ticket',
  'auth/protocol/discovery.ts': 'the address of metadata',
  'commands/kv/schedule.ts': 'a path in a container, from names of flags',
  'commands/labels/flags.ts': 'the name of a resource',
  'kv/client/connection.ts': 'a message',
  'kv/client/etcd-client.ts': 'the key of a probe in the store',
  'kv/upgrade/present/run-model.ts': 'the number of a step',
  'cli/command.ts': 'the resource name of a record',
  'tracker/bulk/column-map.ts': 'the name of a state',
  'tracker/stories.ts': 'the name of a state',
};

type Joiners = { readonly names: ReadonlyMap<string, string>; readonly found: readonly string[] };
const isPathModule = (node: Node | undefined): boolean =>
  node?.type === 'Literal' && /^(node:)?path(\/|$)/.test(String(node['value']));
const WHOLE = 'imports all of node:path: import the functions by name';
/** Functions that make a path from parts in another way than `join` and `resolve`. */
const otherMakers = new Set(['posix', 'win32', 'format', 'normalize', 'default', 'toNamespacedPath']);
const isLoad = (node: Node): boolean =>
  node.type === 'CallExpression' &&
  /^(require|getBuiltinModule)$/.test(node['callee'].name ?? node['callee'].property?.name ?? '');
/** Returns the local names of the functions of node:path that join path segments. */
const joinersOf = (program: Node): Joiners => {
  const names = new Map<string, string>();
  const found: string[] = [];
  walk(program, (node) => {
    if (node.type === 'ImportExpression' && isPathModule(node['source'])) found.push(WHOLE);
    if (/^Export(Named|All)Declaration$/.test(node.type) && isPathModule(node['source'])) found.push(WHOLE);
    if (isLoad(node) && isPathModule(node['arguments'][0])) found.push(WHOLE);
    if (node.type !== 'ImportDeclaration' || !isPathModule(node['source'])) return;
    for (const specifier of node['specifiers'] as Node[]) {
      const imported = specifier.type === 'ImportSpecifier' ? specifier['imported'].name : 'default';
      if (otherMakers.has(imported)) found.push(WHOLE);
      else names.set(specifier['local'].name, imported);
    }
  });
  return { names, found };
};

/** Returns whether the source itself contains the segment as a literal or a constant of the module. */
const isFixed = (node: Node, constants: Constants): boolean =>
  node.type === 'Identifier' && /^[A-Z][A-Z0-9_]*$/.test(node['name'])
    ? constants.get(node['name']) === undefined || isFixedText(constants.get(node['name']) as Node, constants)
    : isFixedText(node, constants);
const isFixedText = (node: Node, constants: Constants): boolean =>
  isBuilt(node) &&
  piecesOf(node, constants).every(
    (one) => typeof one === 'string' || (one !== node && isFixed(one, constants)),
  );
const isOpen = (piece: Piece | undefined, constants: Constants): boolean =>
  piece !== undefined && typeof piece !== 'string' && !isFixed(piece, constants);

const isDirectory = (source: string, node: Piece | undefined): boolean =>
  typeof node === 'object' &&
  /(dir|directory|home|root|state|cache)(\(\))?$/i.test(source.slice(node.start, node.end));
/** Matches a value, a slash and another value: a path that the code builds without childPath. */
const isPath = (pieces: readonly Piece[], constants: Constants): boolean => {
  const parts = pieces.filter((one) => one !== '');
  const [first, second] = parts;
  const startsWithSlash = typeof second === 'string' && second.startsWith('/') && !second.startsWith('//');
  return typeof first === 'object' && startsWithSlash && parts.slice(2).some((one) => isOpen(one, constants));
};
/** Matches a text for a file function with a value behind a slash, or with a value behind a value. */
const isOpenPath = (pieces: readonly Piece[], constants: Constants): boolean => {
  const parts = pieces.filter((one) => one !== '');
  // Names that the kernel chooses.
  if (String(parts[0]).startsWith('/proc/')) return false;
  return parts.some((one, i) => {
    if (i === 0 || !isOpen(one, constants)) return false;
    const before = parts.slice(0, i);
    return before.some((text) => String(text).includes('/')) || typeof parts[i - 1] === 'object';
  });
};

/** Returns whether the path comes from the user and is relative to the working directory, or has only fixed segments. */
const isUserPath = (source: string, [first, ...parts]: Node[], constants: Constants): boolean => {
  if (first === undefined || first.type === 'SpreadElement') return first === undefined;
  if (parts.every((one) => isFixed(one, constants))) return true;
  const [part] = parts as [Node];
  // A field of a record is not a path of the user.
  const text = source.slice(part.start, part.end);
  const isOfRecord = /^\w+\.(name|title|id|path_name|filename|email|key)\b/.test(text);
  return parts.length === 1 && /cwd( \?\? '\/')?$/.test(source.slice(first.start, first.end)) && !isOfRecord;
};

const fileFunctions =
  /^(read|readBytes|readNow|stream|openParts|replace|replaceStream|create|append|truncate|info|rename|copy|remove|makeDirectory|list|realPath)$/;
/** The arguments that are paths. */
const pathsOf = (node: Node): Node[] =>
  node['arguments'].slice(0, /^(rename|copy)$/.test(node['callee'].property.name) ? 2 : 1);
const isFileCall = (source: string, node: Node): boolean =>
  node.type === 'CallExpression' &&
  node['callee'].type === 'MemberExpression' &&
  fileFunctions.test(node['callee'].property.name ?? node['callee'].property.value ?? '') &&
  /files(\(\))?$/.test(source.slice(node['callee'].object.start, node['callee'].object.end));

/** A reference to a joining function that is not a call: the function under another name. */
const isAlias = (node: Node, parent: Node | undefined, names: ReadonlyMap<string, string>): boolean => {
  if (node.type !== 'Identifier' || !/^(join|resolve)$/.test(names.get(node['name']) ?? '')) return false;
  if (parent?.type === 'CallExpression') return parent['callee'] !== node;
  if (parent?.type === 'MemberExpression') return parent['object'] === node;
  return /^(VariableDeclarator|Property|ArrayExpression|ConditionalExpression|LogicalExpression)$/.test(
    parent?.type ?? '',
  );
};

/** Returns the positions where a source builds a path from a name that is neither fixed nor a FileName. */
const unsafePaths = (source: string, isAddresses = false): string[] => {
  const program = parseSource(source);
  const constants = constantsOf(program);
  const { names, found: imports } = joinersOf(program);
  const found = new Set<string>(imports);
  const addAt = (node: Node, what: string): void =>
    void found.add(`line ${source.slice(0, node.start).split('\n').length}: ${what}`);
  walk(program, (node, parent) => {
    if (isAlias(node, parent, names)) addAt(node, 'a function of node:path under another name');
    if (isBuilt(node) && !(parent !== undefined && isBuilt(parent))) {
      const pieces = piecesOf(node, constants);
      const [first] = pieces[0] === '' ? pieces.slice(1) : pieces;
      if (isPath(pieces, constants) && (!isAddresses || isDirectory(source, first)))
        addAt(node, 'a text that is a path');
    }
    if (node.type !== 'CallExpression') return;
    const args = node['arguments'] as Node[];
    const joiner = node['callee'].type === 'Identifier' ? names.get(node['callee'].name) : undefined;
    const isSpread = args[0]?.type === 'SpreadElement';
    if (joiner === 'join' && (isSpread || !args.slice(1).every((one) => isFixed(one, constants))))
      addAt(node, 'join with a name that is not fixed');
    if (joiner === 'resolve' && !isUserPath(source, args, constants))
      addAt(node, 'resolve with a name that is not fixed');
    if (
      isFileCall(source, node) &&
      pathsOf(node).some((one) => isOpenPath(piecesOf(one, constants), constants))
    )
      addAt(node, 'a text that is a path');
  });
  return [...found];
};

const sources = readSources();
const under = (list: Readonly<Record<string, string>>, name: string): boolean =>
  Object.keys(list).some((part) => name.startsWith(part));

test('no source builds a path from a name without childPath', () => {
  const found = sources
    .filter(([name]) => !under(exempt, name))
    .flatMap(([name, text]) => unsafePaths(text, under(addresses, name)).map((one) => `src/${name} ${one}`));
  expect(found, 'use childPath(directory, safeFileName(text, otherwise)) of core/file-name.ts').toEqual([]);
});

test.each([
  "import { join } from 'node:path'; join(directory, name);",
  "import { join as put } from 'node:path'; put(directory, `${name}.pid`);",
  "import { join } from 'node:path/posix'; join(directory, 'a', ...names);",
  "import { join } from 'path'; join(directory, NAMES[0]);",
  "import path from 'node:path'; path.join(directory, name);",
  "import * as path from 'node:path'; path.join(directory, name);",
  "import { posix } from 'node:path'; posix.join(directory, name);",
  "import { format } from 'node:path'; format({ dir: directory, base: name });",
  "const { join } = await import('node:path'); join(directory, name);",
  "const { join } = process.getBuiltinModule('node:path'); join(directory, name);",
  "export { join as put } from 'node:path';",
  "import { join } from 'node:path'; const put = join; put(directory, name);",
  "import { join } from 'node:path'; join.call(undefined, directory, name);",
  "import { join } from 'node:path'; [directory, name].reduce(join);",
  "import { join } from 'node:path'; const tools = { join };",
  "import { join } from 'node:path'; join(...[directory, name]);",
  "import { join } from 'node:path'; const NAME = label.title; join(directory, NAME);",
  "import { join } from 'node:path'; const NAME = `${label.title}.yaml`; join(directory, NAME);",
  'host.files.replace(`${directory}/${name}.pid`, text);',
  'const pidFile = (directory: string, name: string) => `${directory}/${name}.pid`;',
  'const pidFile = (place: string, name: string) => `${place}/${name}.pid`;',
  "import { resolve } from 'node:path'; resolve(directory, name);",
  "import { resolve } from 'node:path'; resolve(...parts);",
  "import { resolve } from 'node:path'; resolve(host.cwd, label.title);",
  'await context.host.files.read(`${directory}/members/${name}`);',
  "host.files.read(directory + '/' + name);",
  'const rest = `/${name}`; host.files.read(place + rest);',
  'const rest = `/${name}`; const path = place.concat(rest);',
  "const path = place.concat('/', name);",
  "const path = [place, name].join('/');",
  "const parts = [place, name]; const path = parts.join('/');",
  "const between = '/'; const path = [place, name].join(between);",
  "host.files.read('/var/lib/NAME'.replace('NAME', name));",
  'host.files.read(`/var/lib/opsctl/${name}`);',
  "host.files['read'](`/var/lib/opsctl/${name}`);",
  'host.files.rename(path, place + rest);',
  "const path = context.stateDirectory() + '/runs/' + id;",
])('the rule finds %s', (source) => {
  expect(unsafePaths(source).length).toBeGreaterThan(0);
});

test.each([
  "import { join } from 'node:path'; join(directory, 'journal.jsonl');",
  "import { join } from 'node:path'; join(directory, LOCK_FILE, '..');",
  "import { join } from 'node:path'; const LIST = 'SUMS'; join(directory, LIST);",
  'host.files.replace(`${directory}/cluster.yaml`, text);',
  "import { resolve } from 'node:path'; resolve(host.cwd, values.out);",
  'host.files.readNow(`/proc/${pid}/cmdline`);',
  "host.files.read(directory + '/journal.jsonl');",
  'new Promise((resolve) => setTimeout(resolve, 1));',
])('the rule allows %s', (source) => {
  expect(unsafePaths(source)).toEqual([]);
});

test('every exemption is needed', () => {
  const unneeded = [...Object.keys(exempt), ...Object.keys(addresses)].filter((part) =>
    sources.every(([name, text]) => !name.startsWith(part) || unsafePaths(text).length === 0),
  );
  expect(unneeded).toEqual([]);
});

/** The sources that unpack data, and why no name of an archive becomes a path. */
const unpacking: Readonly<Record<string, string>> = {
  'auth/protocol/read-response.ts': 'a response, in memory and with a limit',
  'tracker/bulk/external-keys.ts': 'records that the program packed itself, in memory',
  'kv/upgrade/supervisors/docker.ts': 'one file of a container, to standard output',
};
test('no source unpacks an archive', () => {
  const unpacks =
    /\b(?:gunzip|inflate(?:Raw)?|unzip|brotliDecompress|zstdDecompress|createGunzip)(?:Sync)?\(|(?:call|sh)`[^`]*\b(?:(?:bsd)?tar|unzip|cpio|ar|7z|dpkg(?:-deb)?|rpm2cpio)\s+-/;
  const found = readSources().filter(([, text]) => unpacks.test(text));
  expect(found.map(([name]) => name).toSorted()).toEqual(Object.keys(unpacking).toSorted());
  const [, docker] = found.find(([name]) => name.endsWith('docker.ts')) ?? [];
  // -O writes to standard output, whatever the names in the archive are.
  expect(docker?.match(/\btar -\w+/g)).toEqual(['tar -xO']);
});
