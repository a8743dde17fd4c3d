import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { isSecretName } from '../src/core/redact-secrets.ts';
import { constantsOf, type Constants, type Node, parseSource, readSources, walk } from './support/syntax.ts';

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

/** Each file that starts a program, and the reason why external text cannot become a flag of the program. */
const starters: Readonly<Record<string, string>> = {
  'auth/machine/identity-token.ts': 'the command of the user, for a shell',
  'auth/programs/setup.ts': 'git, with keys of a fixed form; kubectl, the user after --',
  'cli/approved-files.ts': 'hands on the words of its caller, with the paths of copies',
  'cli/aliases.ts': 'the command of the user; a program for completion, with the words of the line',
  'commands/kv/top.ts': 'this program, with fixed words',
  'commands/mock/serve.ts': 'this program, values follow their flag; the command of the user',
  'support/installation.ts': 'npm, with fixed words',
  'etcd-sim/cluster/layout.ts': 'the simulated member',
  'kv/snapshots/trial-restore.ts': 'absolute paths, and values that follow their flag',
  'kv/upgrade/cluster/draft.ts': 'systemctl, the unit after --',
  'kv/upgrade/execute/steps.ts': 'values follow their flag',
  'kv/upgrade/execute/member.ts': 'the command of the cluster file',
  'kv/upgrade/fleet/fleet-run.ts': 'this program; values follow their flag',
  'kv/upgrade/rehearse/private-copy.ts': 'this program; values follow their flag',
  'kv/upgrade/rehearse/rehearse.ts': 'values follow their flag',
  'kv/upgrade/supervisors/local.ts': 'a fixed word; the command line of the cluster file',
  'kv/upgrade/supervisors/driver.ts': 'a script on standard input',
  'kv/upgrade/supervisors/process-record.ts': 'ionice, with the number of a process',
  'kv/upgrade/supervisors/ssh.ts': 'the host after --; the jump host is validated',
  'kv/upgrade/window/window.ts': 'the command of the user, for a shell',
  'cli/tracing.ts': 'hands on the words of its caller',
  'cli/mcp/call.ts': 'this program; its words are on standard input',
  'platform/node/programs.ts': 'a web address; the pager command of the user, for a shell',
  'platform/node/processes.ts': 'ps, with a number; Host.processes itself',
  'support/tour.ts': 'this program, with fixed words',
  'tracker/long-text.ts': 'the editor of the user, with an absolute path',
};

const starts = /^(?:run|start|spawn|spawnSync|execFile|execFileSync|exec|execSync|fork)$/;
/** Methods of `Host.processes` that start nothing. */
const watches = /^(?:isAlive|signal|startMark|scope)$/;
const nameOf = (node: Node | undefined): string => String(node?.['name'] ?? node?.['value'] ?? '');
/** Matches `host.processes`, `processes` of a pattern, and a module with a function that starts programs. */
const isStarter = (node: Node, parent: Node | undefined): boolean => {
  const isModule = /^(?:node:)?child_process$|^execa$/.test(String(node['source']?.value ?? ''));
  if (/^Import(?:Declaration|Expression)$/.test(node.type)) return isModule && node['importKind'] !== 'type';
  if (node.type === 'VariableDeclarator' && node['id'].type === 'ObjectPattern') {
    const isHost = /host$/i.test(nameOf(node['init']?.['property'] ?? node['init'] ?? undefined));
    return isHost && node['id'].properties.some((one: Node) => nameOf(one['key']) === 'processes');
  }
  const isRead = parent?.type === 'MemberExpression' && parent['object'] === node;
  const isOther = !isRead || parent['computed'] || !watches.test(nameOf(parent['property']));
  if (node.type === 'MemberExpression' && /^(?:processes|childProcess)$/.test(nameOf(node['property'])))
    return isOther;
  return isRead && isOther && node['name'] === 'processes' && starts.test(nameOf(parent['property']));
};
const startsPrograms = (source: string): boolean => {
  if (!/\bprocesses\b|childProcess|child_process|execa/.test(source)) return false;
  let found = false;
  walk(parseSource(source), (node, parent) => {
    found ||= isStarter(node, parent);
  });
  return found;
};
test('every place that starts a program documents why its arguments are safe', () => {
  const found = readSources().filter(([, text]) => startsPrograms(text));
  expect(found.map(([name]) => name).toSorted()).toEqual(Object.keys(starters).toSorted());
});
test.each([
  "host.processes.run('git', words);",
  "const { run } = host.processes; run('git', words);",
  "const { processes } = host; processes.start('git', words);",
  "const run = host.processes.run; run('git', words);",
  "host.processes['run']('git', words);",
  "host['processes'].run('git', words);",
  "const tools = host.processes; tools.run('git', words);",
  'begin(host.processes);',
  "builtin.childProcess.spawn('git', words);",
  "const { spawn } = await import('node:child_process');",
  "import { execa } from 'execa';",
])('a program is started by %s', (source) => {
  expect(startsPrograms(source)).toBe(true);
});

const DEEPEST = 5;
/** Names of secrets that an expression contains, through variables, spreads and functions of the same source. */
const secretsWithin = (value: Node, constants: Constants, depth = DEEPEST): string[] => {
  const found: string[] = [];
  walk(value, (node, parent) => {
    const isKey = parent?.type === 'Property' && parent['key'] === node && !parent['computed'];
    const isInner = parent?.type === 'MemberExpression' && parent['property'] === node && !parent['computed'];
    const text = node.type === 'TemplateElement' ? String(node['value'].raw) : nameOf(node);
    const [, flag] = /^--?([a-z-]+)=?$/.exec(node.type === 'Identifier' ? '' : text) ?? [];
    if (flag !== undefined && isSecretName(flag)) found.push(flag);
    if (node.type !== 'Identifier' || isKey) return;
    const name = nameOf(node);
    if (isSecretName(name)) found.push(name);
    const own = isInner ? undefined : constants.get(name);
    if (own !== undefined && depth > 0) found.push(...secretsWithin(own, constants, depth - 1));
  });
  return found;
};
/** Names that look like a secret, by the source, and what they are. */
const known: Readonly<Record<string, string>> = {
  'cli/mcp/call.ts: token': 'an approval of the person, on standard input',
  'kv/upgrade/rehearse/private-copy.ts: initial-cluster-token': 'a name of a cluster',
};
/** Returns the secrets in the arguments of the programs that a source starts. Files, standard input and the environment may have some. */
const secretArguments = (source: string): string[] => {
  const program = parseSource(source);
  const constants = constantsOf(program);
  const found = new Set<string>();
  walk(program, (node) => {
    if (node.type !== 'CallExpression' || node['arguments'].length < 2) return;
    const callee = node['callee'] as Node;
    const name = nameOf(callee.type === 'MemberExpression' ? callee['property'] : callee);
    if (!starts.test(name)) return;
    for (const one of node['arguments'].slice(0, 2) as Node[])
      for (const secret of secretsWithin(one, constants)) if (secret !== 'code') found.add(secret);
  });
  return [...found];
};
test('no secret is an argument of a program', () => {
  const found = readSources()
    .filter(([name]) => name in starters)
    .flatMap(([name, text]) => secretArguments(text).map((secret) => `${name}: ${secret}`));
  const unknown = found.filter((one) => !(one in known));
  expect(unknown, 'pass a secret through a file, standard input or the environment').toEqual([]);
});
test.each([
  "processes.run('curl', ['-u', password]);",
  "processes.run('curl', [...options, ...[clientSecret]]);",
  "const words = ['--header', accessToken]; processes.run('curl', [...words]);",
  "const words = () => [`--password=${values['api-key'] ?? ''}`]; processes.run('curl', words());",
  "const words = ['env', `TOKEN=${account.accessToken}`]; processes.start('env', words);",
  "const flags = ['--password', value]; const all = [...flags, 'x']; processes.run('etcdctl', all);",
])('a secret in an argument is found in %s', (source) => {
  expect(secretArguments(source).length).toBeGreaterThan(0);
});
test.each([
  "processes.run('curl', ['--config', path], { input: token });",
  "processes.run('curl', words, { env: { TOKEN: token } });",
])('a secret outside of the arguments is allowed in %s', (source) => {
  expect(secretArguments(source)).toEqual([]);
});
