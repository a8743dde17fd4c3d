import { readFileSync, readdirSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { expect, test } from 'vitest';
import { args, call, hideOwnVariables, trustCall } from '../src/core/program-call.ts';
import { isSecretName } from '../src/core/redact-secrets.ts';
import type { Processes } from '../src/platform/host.ts';
import { nodeProcesses } from '../src/platform/node/processes.ts';
import { constantsOf, type Constants, type Node, parseSource, readSources, walk } from './support/sources.ts';

const root = new URL('../src/', import.meta.url).pathname;
const sources = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter((name) =>
  name.endsWith('.ts'),
);
const linesWith = (pattern: RegExp): string[] =>
  sources.flatMap((name) =>
    readFileSync(join(root, name), 'utf8')
      .split('\n')
      .filter((line) => pattern.test(line))
      .map((line) => `${name}: ${line.trim()}`),
  );

/**
 * A cast would bypass the type and still compile. Only `externalUrl` creates values of the type; the loopback address
 * is valid by construction.
 */
test('no source casts a text to a web address', () => {
  const casts = linesWith(/as (unknown as )?ExternalUrl\b|<ExternalUrl>/).filter(
    (line) => !line.startsWith('core/external-url.ts'),
  );
  expect(casts).toEqual([
    'auth/loopback/listen.ts: return externalUrl(`http://${literal}:${bound.port}${launchPath}`) as ExternalUrl;',
  ]);
});

test('no source casts a text to a file name', () => {
  const casts = linesWith(/as (unknown as )?FileName\b|<FileName>/);
  expect(casts.filter((line) => !line.startsWith('core/file-name.ts'))).toEqual([]);
});

test('no source casts a text to a program or its arguments', () => {
  const casts = linesWith(
    /as (?:unknown as )?Program(?:Name|Arguments|Call)\b|<Program(?:Name|Arguments|Call)>/,
  );
  expect(casts.filter((line) => !line.startsWith('core/program-call.ts'))).toEqual([]);
});

/**
 * Each function that uses `trustCall`, with the origin of its words. Every other start of a program has the tag `call`, whose
 * values cannot be flags. `*`: the function is exported and its caller chooses the words, so its importers are listed below.
 */
const trusting: Readonly<Record<string, string>> = {
  'auth/machine/identity-token.ts fromCommand': 'the command of the user, for a shell',
  'cli/aliases.ts completeExtension *': 'a program for completion, with the words of the line',
  'cli/aliases.ts extensionCode': 'the command of the user',
  'cli/approved-files.ts withCopies': 'the call of its caller, with the paths of copies',
  'cli/mcp/call.ts run': 'this program; its words are on standard input',
  'commands/auth/programs.ts exec': 'the command of the user',
  'commands/kv/top.ts startCommand':
    'this program, with the command of a key and the cluster file of the user',
  'commands/mock/serve.ts runChild': 'the command of the user',
  'commands/mock/serve.ts startDetached': 'this program; values follow their flag in the same word',
  'etcd-sim/cluster/layout.ts startProcess': 'the simulated member',
  'kv/snapshots/trial-restore.ts needRestoringCtl': 'the program of the user, with the tag args',
  'kv/snapshots/trial-restore.ts rebuilt': 'the program of the user, with the tag args',
  'kv/snapshots/trial-restore.ts withMember': 'the program of the user, with the tag args',
  'kv/upgrade/execute/member.ts runHook': 'the command of the cluster file',
  'kv/upgrade/execute/steps.ts readV2Data': 'the program of the cluster file; values follow their flag',
  'kv/upgrade/fleet/fleet-run.ts runSelf': 'this program; values follow their flag',
  'kv/upgrade/rehearse/private-copy.ts runSelf': 'this program, with the tag args',
  'kv/upgrade/rehearse/private-copy.ts upgradeCopy': 'this program, with the tag args',
  'kv/upgrade/rehearse/rehearse.ts restoreCopy': 'the program of the cluster file, with the tag args',
  'kv/upgrade/supervisors/local.ts binaryVersion': 'the program of the cluster file',
  'kv/upgrade/supervisors/local.ts start': 'the command line of the cluster file',
  'kv/upgrade/supervisors/ssh.ts remoteFor': 'the options of the cluster file; the jump host is validated',
  'kv/upgrade/window/window.ts byCommand': 'the command of the user, for a shell',
  'support/tour.ts serve': 'this program, with fixed words',
  'support/tour.ts stop': 'this program, with fixed words',
  'support/tour.ts tour': 'this program, with the tag args',
  'commands/tracker/extensions.ts editorCall': 'the editor of the user, with an absolute path',
};
/** The importers of the functions with `*`. A helper in another file is a new row. */
const importers: Readonly<Record<string, readonly string[]>> = {
  'cli/aliases.ts completeExtension': ['complete.ts'],
};
/** Files that load a module with a function that starts programs. */
const modules = [
  // The loader of built-in modules, and the thread of a filter.
  ...['platform/node/builtin.ts', 'platform/node/jq-run.ts'],
  ...['platform/node/processes.ts', 'platform/node/programs.ts'],
];

const CALLS = 'core/program-call.ts';
/** The functions that accept words of a person as arguments. */
const TRUSTS = /^(?:trustCall|trustWords|mapCall)$/;
const nameOf = (node: Node | undefined): string => String(node?.['name'] ?? node?.['value'] ?? '');
const pathFrom = (file: string, from: unknown): string =>
  normalize(join(dirname(file), String(from))).replaceAll('\\', '/');
type Import = { readonly file: string; readonly name: string };
const patternNames = (pattern: Node): (readonly [string, string])[] =>
  pattern.type === 'ObjectPattern'
    ? (pattern['properties'] as Node[]).map((one) => [nameOf(one['value']), nameOf(one['key'])] as const)
    : [[nameOf(pattern), '*']];
/** What a source imports by its local name; `*` for a whole module. Re-exports and dynamic imports count. */
const importsOf = (file: string, program: Node): (readonly [local: string, from: Import])[] => {
  const found: (readonly [string, Import])[] = [];
  walk(program, (node, parent) => {
    if (/^(?:Import|ExportNamed|ExportAll)Declaration$/.test(node.type) && node['source'] !== null) {
      const from = pathFrom(file, node['source'].value);
      if (node.type === 'ExportAllDeclaration') found.push(['*', { file: from, name: '*' }]);
      for (const one of (node['specifiers'] ?? []) as Node[])
        found.push([
          nameOf(one['local'] ?? one['exported']),
          {
            file: from,
            name:
              nameOf(one['imported'] ?? (node.type === 'ImportDeclaration' ? undefined : one['local'])) ||
              '*',
          },
        ]);
    }
    if (node.type !== 'ImportExpression') return;
    const from = pathFrom(file, node['source'].value);
    found.push([`*${node.start}`, { file: from, name: parent?.type === 'AwaitExpression' ? '?' : '*' }]);
  });
  walk(program, (node) => {
    const init = node['init'] as Node | null | undefined;
    if (node.type !== 'VariableDeclarator' || init?.type !== 'AwaitExpression') return;
    const loaded = init['argument'] as Node;
    if (loaded.type !== 'ImportExpression') return;
    const from = pathFrom(file, loaded['source'].value);
    for (const [local, name] of patternNames(node['id'])) found.push([local, { file: from, name }]);
  });
  return found;
};
type File = {
  readonly name: string;
  readonly program: Node;
  readonly constants: Constants;
  readonly imports: ReadonlyMap<string, Import>;
};
const fileOf = (name: string, text: string): File => {
  const program = parseSource(text);
  return { name, program, constants: constantsOf(program), imports: new Map(importsOf(name, program)) };
};
const files = new Map(readSources().map(([name, text]) => [name, fileOf(name, text)] as const));

const declaredName = (statement: Node): string => {
  const declared = (statement['declaration'] ?? statement) as Node;
  return nameOf(declared['id'] ?? declared['declarations']?.[0]?.id);
};
/** The top-level functions of a file that use `trustCall`. Another name for it, or the whole module, is a finding too. */
const trustingIn = ({ name, program, imports }: File): string[] => {
  if (name === CALLS) return [];
  const found = new Set<string>();
  const locals = new Set<string>();
  for (const [local, from] of imports) {
    if (from.file !== CALLS) continue;
    if (TRUSTS.test(from.name)) locals.add(local);
    if (from.name === '*') found.add(`${name} imports all of program-call`);
    if (TRUSTS.test(from.name) && local !== from.name) found.add(`${name} renames ${from.name}`);
  }
  for (const statement of program['body'] as Node[]) {
    if (/^Import/.test(statement.type)) continue;
    if (/^Export/.test(statement.type) && statement['source']?.value?.endsWith('/program-call.ts'))
      found.add(`${name} exports program-call`);
    walk(statement, (node, parent) => {
      const isUse = node.type === 'Identifier' && locals.has(nameOf(node));
      if (!isUse) return;
      const isCall = parent?.type === 'CallExpression' && parent['callee'] === node;
      found.add(isCall ? `${name} ${declaredName(statement)}` : `${name} hands on trustCall`);
    });
  }
  return [...found];
};
test('every function that trusts the words of a program states their origin', () => {
  const found = [...files.values()].flatMap(trustingIn);
  expect(found.toSorted()).toEqual(
    Object.keys(trusting)
      .map((one) => one.replace(' *', ''))
      .toSorted(),
  );
});
const importersOf = (row: string): string[] => {
  const [file = '', name = ''] = row.split(' ');
  return [...files.values()]
    .filter(({ imports }) =>
      [...imports.values()].some((from) => from.file === file && (from.name === name || from.name === '*')),
    )
    .map((one) => one.name);
};
test('the importers of functions that hand on words are listed', () => {
  const rows = Object.keys(trusting).filter((one) => one.endsWith(' *'));
  expect(
    Object.fromEntries(rows.map((row) => [row.replace(' *', ''), importersOf(row.replace(' *', ''))])),
  ).toEqual(importers);
});
/** A parameter of an exported function that reaches `trustCall` without the brand is chosen in another file. */
const openParameters = (file: File): string[] =>
  (file.program['body'] as Node[]).flatMap((statement) => {
    if (statement.type !== 'ExportNamedDeclaration' || statement['declaration'] === null) return [];
    const declared = statement['declaration'] as Node;
    const work = (declared['declarations']?.[0]?.init ?? declared) as Node;
    const parameters = ((work['params'] ?? []) as Node[]).filter((one) =>
      /string\[\]|string, /.test(
        JSON.stringify(one['typeAnnotation'] ?? {}).includes('TSStringKeyword') ? 'string[]' : '',
      ),
    );
    const names = new Set(parameters.map(nameOf));
    const found = new Set<string>();
    walk(work, (node) => {
      if (node.type !== 'CallExpression' || !TRUSTS.test(nameOf(node['callee']))) return;
      walk(node['arguments'], (one) => {
        if (one.type === 'Identifier' && names.has(nameOf(one)))
          found.add(`${file.name} ${declaredName(statement)}`);
      });
    });
    return [...found];
  });
test('only listed functions pass words of another file to trustCall', () => {
  const found = [...files.values()].filter(({ name }) => name !== CALLS).flatMap(openParameters);
  expect(
    found.filter((one) => !(`${one} *` in trusting || /binaryVersion|byCommand|withMember/.test(one))),
  ).toEqual([]);
});

/** Matches a module with a function that starts programs. */
const loadsStarter = (source: string): boolean => {
  let found = false;
  walk(parseSource(source), (node, parent) => {
    const from = String(node['source']?.value ?? node['arguments']?.[0]?.value ?? '');
    const isModule =
      /^(?:node:)?child_process$|^(?:node:)?worker_threads$|^(?:node:)?cluster$|^execa$|^open$/.test(from);
    if (/^(?:Import|Export\w*)Declaration$/.test(node.type))
      found ||= isModule && node['importKind'] !== 'type';
    if (node.type === 'ImportExpression' || node.type === 'CallExpression') found ||= isModule;
    if (node.type === 'MemberExpression')
      found ||= /^(?:childProcess|binding)$/.test(nameOf(node['property']));
    if (node.type === 'Property' && parent?.type === 'ObjectPattern')
      found ||= nameOf(node['key']) === 'childProcess';
    if (node.type === 'Identifier' && node['name'] === 'builtin' && parent?.type === 'VariableDeclarator')
      found ||= parent['init'] === node;
  });
  return found;
};
test('only the Host loads a module that starts programs', () => {
  const found = readSources().filter(([, text]) => loadsStarter(text));
  expect(found.map(([name]) => name).toSorted()).toEqual(modules);
});
test.each([
  "builtin.childProcess.spawn('git', words);",
  "builtin['childProcess'].spawn('git', words);",
  'const { childProcess } = builtin;',
  'const tools = builtin;',
  "const { spawn } = await import('node:child_process');",
  "import { execa } from 'execa';",
  "export { spawn } from 'node:child_process';",
  "export * from 'child_process';",
  "process.getBuiltinModule('child_process').execSync(text);",
  "require('node:child_process').execSync(text);",
  "process.binding('spawn_sync');",
  "import { Worker } from 'node:worker_threads';",
])('a module that starts programs is found in %s', (source) => {
  expect(loadsStarter(source)).toBe(true);
});

const textOf = (text: string): string => text;
/** Each line compiles only because of its comment; without the type, the line of the comment is an error. */
test('the compiler and the Host reject a program without a call', async () => {
  const processes: Processes = nodeProcesses({ PATH: process.env['PATH'] });
  const [words, name] = [[textOf('x')], textOf('false')];
  const [program, safe] = call`true x`;
  const begin = (given: Processes, ...rest: Parameters<Processes['run']>) => given.run(...rest);
  const { run } = processes;
  const attempts = [
    // @ts-expect-error A text is not a program, and a list is not arguments.
    () => processes.run('true', ['x']),
    // @ts-expect-error A list is not arguments.
    () => processes.run(program, words),
    // @ts-expect-error A text is not a program.
    () => processes.run(name, safe),
    // @ts-expect-error A copy of arguments is a list.
    () => processes.run(program, [...safe]),
    // @ts-expect-error Arguments with a change are a list.
    () => processes.run(program, safe.map(textOf)),
    // @ts-expect-error Arguments with an addition are a list.
    () => processes.run(program, safe.concat(words)),
    // @ts-expect-error The function under another name has the same type.
    () => run('true', words),
    // @ts-expect-error A helper has the type of the function.
    () => begin(processes, 'true', words),
    // @ts-expect-error The start of a program has the same rule.
    () => processes.start('true', words),
    // @ts-expect-error A frozen list is not arguments.
    () => processes.run(program, Object.freeze(['x'])),
    // @ts-expect-error A bound function keeps the type.
    () => processes.run.bind(processes)('true', words),
    () => processes.run(program, { ...safe, length: 1 }),
    // These compile, and the Host rejects them as it rejects a cast.
    ...[
      ['true', ['x']],
      [program, words],
      ['echo', safe],
      [program, Object.freeze([...safe])],
    ].flatMap((given) => [
      () => Reflect.apply(processes.run, processes, given),
      () => Reflect.apply(processes.start, processes, given),
    ]),
  ];
  for (const attempt of attempts) await expect((async () => attempt())()).rejects.toThrow(TypeError);
});

test('a value of a call is one word and never a flag', () => {
  const evil = '--renderer-cmd-prefix=touch -- ran';
  expect(call`git show ${'a b'} ${args`${'c'} ${''}`} --name=${'-x'} -- ${evil}`[1]).toEqual([
    ...['show', 'a b', 'c', '', '--name=-x', '--', evil],
  ]);
  expect(call`git config --add ${'-x'}`[1]).toEqual(['config', '--add', '-x']);
  expect(call`git ${args`-C ${'d'}`} status${1}`[1]).toEqual(['-C', 'd', 'status1']);
  expect(trustCall(['git', '-x'], args`-- ${evil}`)).toEqual(['git', ['-x', '--', evil]]);
  for (const attempt of [
    () => call`git show ${evil}`,
    // A list of texts does not compile, because an item with a dash would not be a flag.
    () =>
      Reflect.apply(call, undefined, [
        ['git show ', ''],
        ['a', '--b'],
      ]),
    () => call`git --name=x ${evil}`,
    () => call`git --add ${'x'} ${evil}`,
    () => call`${evil} show`,
    () => call`sh -c ${'id'}`,
    () => call`/bin/bash -c ${'id'}`,
    () => call`git show ${'a\0b'}`,
    () => call`git show x${args`a b`}`,
    // An absent value would make the next word the value of the flag.
    () => Reflect.apply(args, undefined, [['--stable-for ', ' --b'], undefined]),
    () => Reflect.apply(args, undefined, [['--stable-for=', ''], undefined]),
    () => Reflect.apply(args, undefined, [['--stable-for ', ''], null]),
    () => trustCall(['git'], ['-x']),
  ])
    expect(attempt).toThrow(TypeError);
});

const DEEPEST = 6;
/** Functions and tags whose values become arguments of a program. The functions pass their words on to a call. */
const takesWords =
  /^(?:trustCall|trustWords|runSelf|upgradeCopy|startCommand|runChild|completeExtension|runAttended|editorCall)$/;
/** Follows an identifier to its value in this file, or in the file that it is imported from. */
const follow = (file: File, name: string): readonly [File, Node] | undefined => {
  const own = file.constants.get(name);
  if (own !== undefined) return [file, own];
  const from = file.imports.get(name);
  const other = from === undefined ? undefined : files.get(from.file);
  const value = from === undefined ? undefined : other?.constants.get(from.name);
  return other === undefined || value === undefined ? undefined : [other, value];
};
/** What a function returns: its other code makes no argument. */
const resultsOf = (value: Node): Node[] => {
  if (value['body']?.type !== 'BlockStatement') return [value['body'] ?? value];
  const found: Node[] = [];
  walk(value['body'], (node) => {
    if (node.type === 'ReturnStatement' && node['argument'] !== null) found.push(node['argument']);
  });
  return found;
};
/** Names of secrets that an expression contains, through variables, spreads, functions and imports. */
const secretsWithin = (file: File, value: Node, depth = DEEPEST, seen = new Set<Node>()): string[] => {
  if (seen.has(value)) return [];
  seen.add(value);
  const found: string[] = [];
  walk(value, (node, parent) => {
    const isKey = parent?.type === 'Property' && parent['key'] === node && !parent['computed'];
    const isInner = parent?.type === 'MemberExpression' && parent['property'] === node && !parent['computed'];
    const text = node.type === 'TemplateElement' ? String(node['value'].raw) : nameOf(node);
    for (const word of node.type === 'Identifier' ? [] : text.split(/\s+/)) {
      const [, flag] = /^--?([a-z-]+)=?$/.exec(word) ?? [];
      if (flag !== undefined && isSecretName(flag)) found.push(flag);
    }
    if (node.type !== 'Identifier' || isKey) return;
    const name = nameOf(node);
    if (isSecretName(name)) found.push(name);
    const space = isInner ? file.imports.get(nameOf(parent?.['object'])) : undefined;
    const other = space?.name === '*' ? files.get(space.file) : undefined;
    const next = other === undefined ? (isInner ? undefined : follow(file, name)) : follow(other, name);
    if (next === undefined || depth === 0) return;
    for (const one of resultsOf(next[1])) found.push(...secretsWithin(next[0], one, depth - 1, seen));
  });
  return found;
};
/** Returns the secrets in the arguments of the programs that a source starts. Files, standard input and the environment may have some. */
const secretArguments = (file: File): string[] => {
  const found = new Set<string>();
  const add = (one: Node): void => {
    for (const secret of secretsWithin(file, one)) if (secret !== 'code') found.add(secret);
  };
  walk(file.program, (node) => {
    if (node.type === 'TaggedTemplateExpression' && /^(?:call|args|positional)$/.test(nameOf(node['tag'])))
      add(node['quasi']);
    if (node.type !== 'CallExpression') return;
    const callee = node['callee'] as Node;
    const name = nameOf(callee.type === 'MemberExpression' ? callee['property'] : callee);
    if (!takesWords.test(name)) return;
    for (const one of node['arguments'] as Node[]) if (one.type !== 'ObjectExpression') add(one);
  });
  return [...found];
};
/** Names that look like a secret, by the source, and what they are. */
const known: Readonly<Record<string, string>> = {
  'kv/upgrade/rehearse/private-copy.ts: initial-cluster-token': 'a name of a cluster',
  'commands/mock/serve.ts: token': 'the token that the flag of the user names, of the mock server',
};
test('no secret is an argument of a program', () => {
  const found = [...files.values()]
    .filter(({ name }) => name !== CALLS)
    .flatMap((file) => secretArguments(file).map((secret) => `${file.name}: ${secret}`));
  const unknown = found.filter((one) => !(one in known));
  expect(unknown, 'pass a secret through a file, standard input or the environment').toEqual([]);
});
const helper = fileOf(
  'cli/helper.ts',
  `export const extra = (account) => ['-u', account.password];
   export const HEADER = '--access-token';
   const inner = (account) => account.clientSecret;
   export const wrapped = (account) => [inner(account)];`,
);
test.each([
  "trustCall(['curl', '-u', password]);",
  "trustCall(['curl', ...options, ...[clientSecret]]);",
  "const words = ['--header', accessToken]; trustCall(['curl', ...words]);",
  "const words = () => [`--password=${values['api-key'] ?? ''}`]; trustCall(words());",
  "const words = ['env', `TOKEN=${account.accessToken}`]; trustCall(words);",
  "const flags = ['--password', value]; const all = [...flags, 'x']; trustCall(all);",
  'call`curl -u ${password}`;',
  'call`curl --password ${value}`;',
  'const more = args`-u ${account.secret}`; trustCall(host.self, more);',
  "import { extra } from './helper.ts'; trustCall(['curl', ...extra(account)]);",
  "import { extra as more } from './helper.ts'; call`curl ${more(account)}`;",
  "import * as tools from './helper.ts'; call`curl ${tools.extra(account)}`;",
  "const { extra } = await import('./helper.ts'); call`curl ${extra(account)}`;",
  "import { HEADER } from './helper.ts'; trustCall(['curl', HEADER, value]);",
  "import { wrapped } from './helper.ts'; const words = wrapped(account); trustCall(words);",
  'runSelf(host, home, args`kv --password ${value}`);',
  "runAttended(host, trustCall(['x', refreshToken]));",
])('a secret in an argument is found in %s', (source) => {
  files.set(helper.name, helper);
  expect(secretArguments(fileOf('cli/x.ts', source)).length).toBeGreaterThan(0);
  files.delete(helper.name);
});
test.each([
  'processes.run(...call`curl --config ${path}`, { input: token });',
  'processes.run(...trustCall(words), { env: { TOKEN: token } });',
])('a secret outside of the arguments is allowed in %s', (source) => {
  expect(secretArguments(fileOf('cli/x.ts', source))).toEqual([]);
});
test.each([
  "import { trustCall as go } from '../core/program-call.ts'; export const run = (words) => go(words);",
  "import * as calls from '../core/program-call.ts'; calls.trustCall(words);",
  "export { trustCall } from '../core/program-call.ts';",
  "export * from '../core/program-call.ts';",
  "const { trustCall } = await import('../core/program-call.ts'); trustCall(words);",
  "const calls = await import('../core/program-call.ts'); calls.trustCall(words);",
  "import('../core/program-call.ts').then(({ trustCall }) => trustCall(words));",
  "import { trustCall } from '../core/program-call.ts'; const tools = { trustCall };",
  "import { trustCall } from '../core/program-call.ts'; list.map(trustCall);",
  "import { trustCall } from '../core/program-call.ts'; export const begin = (words) => trustCall(words);",
])('a use of trustCall is found in %s', (source) => {
  expect(trustingIn(fileOf('cli/x.ts', source)).length).toBeGreaterThan(0);
});

/** The programs that `trustCall` would find by the PATH of the person, although the source names them. */
const namedByWord = ({ name, program }: File): string[] => {
  const found: string[] = [];
  walk(program, (node) => {
    if (node.type !== 'CallExpression' || nameOf(node['callee']) !== 'trustCall') return;
    const [first] = (node['arguments']?.[0]?.['elements'] ?? []) as (Node | undefined)[];
    const word = first?.type === 'Literal' ? String(first['value']) : undefined;
    if (word !== undefined && !word.startsWith('/')) found.push(`${name} ${word}`);
  });
  return found;
};
test('a program that the source names by a word runs with call or trustWords', () => {
  expect([...files.values()].flatMap(namedByWord)).toEqual([]);
});
test.each([
  ["trustCall(['sh', '-c', text]);", 1],
  ["trustCall(['ssh', ...words], args`-- ${where}`);", 1],
  ["trustCall(['/bin/sh', '-c', text]);", 0],
  ["trustWords('ssh', words);", 0],
  ['trustCall(words);', 0],
])('a name that the PATH of a person decides is found in %s: %i', (source, count) => {
  expect(namedByWord(fileOf('cli/x.ts', source))).toHaveLength(count);
});

/** Functions of the cluster commands that run a program with the complete environment of the person. */
const withWholeEnvironment: Readonly<Record<string, string>> = {
  'kv/upgrade/execute/member.ts runHook': 'a hook may run opsctl',
  'kv/upgrade/fleet/fleet-run.ts runSelf': 'this program',
  'kv/upgrade/rehearse/private-copy.ts upgradeCopy': 'this program',
  'kv/upgrade/window/window.ts byCommand': 'the command of the person may run opsctl',
};
/** The functions that start a program of a person without a list of its variables. */
const inheriting = ({ name, program }: File): string[] =>
  (program['body'] as Node[]).flatMap((statement) => {
    let isFound = false;
    walk(statement, (node) => {
      if (node.type !== 'CallExpression') return;
      const [first, options] = (node['arguments'] ?? []) as Node[];
      const made = first?.type === 'SpreadElement' ? (first['argument'] as Node) : undefined;
      if (made?.type !== 'CallExpression' || nameOf(made['callee']) !== 'trustCall') return;
      const names = ((options?.['properties'] ?? []) as Node[]).map((one) => nameOf(one['key']));
      isFound ||= !names.includes('env');
    });
    return isFound ? [`${name} ${declaredName(statement)}`] : [];
  });
test('a program of a member gets no variables of opsctl', () => {
  const found = [...files.values()].filter(({ name }) => name.startsWith('kv/')).flatMap(inheriting);
  expect(found.filter((one) => !(one in withWholeEnvironment))).toEqual([]);
});
test.each([
  ['processes.run(...trustCall([binary], args`--version`), { timeoutMs: 1 });', 1],
  ['processes.start(...trustCall([binary]));', 1],
  ['processes.run(...trustCall([binary]), { env: hideOwnVariables(host) });', 0],
  ['processes.run(...call`git status`);', 0],
])('an inherited environment is found in %s: %i', (source, count) => {
  expect(inheriting(fileOf('kv/x.ts', source))).toHaveLength(count);
});
test('the variables of opsctl are removed, and no others', () => {
  expect(hideOwnVariables({ env: { OPSCTL_ACCESS_TOKEN: 'a', ETCD_UNSUPPORTED_ARCH: 'arm64' } })).toEqual({
    OPSCTL_ACCESS_TOKEN: undefined,
  });
});
