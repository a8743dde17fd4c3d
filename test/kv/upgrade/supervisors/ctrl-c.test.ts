/**
 * A Ctrl-C at a terminal reaches every process of the group. A run finishes its member after it, so no program
 * that the run needs for that may end.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { type Node, parseSource, walk } from '../../../support/sources.ts';

const folders = ['execute', 'restore', 'supervisors'].map((name) => join('src/kv/upgrade', name));
const keptOption = 'keepsRunningOnCtrlC';
const nameIn = (node: Node | undefined): unknown => node?.['name'] ?? node?.['value'];
const isOfProcesses = (node: Node | undefined): boolean =>
  node?.type === 'Identifier'
    ? nameIn(node) === 'processes'
    : node?.type === 'MemberExpression' && nameIn(node['property']) === 'processes';
const isRun = (node: Node | undefined): boolean =>
  node?.type === 'MemberExpression' && nameIn(node['property']) === 'run' && isOfProcesses(node['object']);
/** Returns whether an object among the arguments of the call sets the option to true. */
const isKept = (call: Node): boolean =>
  (call['arguments'] as Node[]).some(
    (given) =>
      given.type === 'ObjectExpression' &&
      (given['properties'] as Node[]).some(
        (one) => nameIn(one['key']) === keptOption && one['value']?.value === true,
      ),
  );
type Found = { readonly calls: number; readonly wrong: readonly string[] };
/**
 * Counts the calls of `processes.run` of a source. Wrong are calls without the option, and references to the
 * function under another name, because this rule does not see their calls.
 */
const findCalls = (source: string): Found => {
  let calls = 0;
  const wrong: string[] = [];
  const add = ({ start, end }: Node): void => void wrong.push(source.slice(start, end).slice(0, 80));
  walk(parseSource(source), (node, parent) => {
    if (node.type === 'CallExpression' && isRun(node['callee'])) {
      calls += 1;
      if (!isKept(node)) add(node);
    }
    const isCalled = parent?.type === 'CallExpression' && parent['callee'] === node;
    if (isRun(node) && !isCalled) add(node);
    const isPart = parent?.type === 'MemberExpression' && parent['object'] === node;
    if (node.type === 'MemberExpression' && isOfProcesses(node) && !isPart) add(node);
    if (node.type === 'ObjectPattern')
      for (const { key, value } of node['properties'] as Node[])
        if (nameIn(key) === 'processes' && nameIn(value) !== 'processes') add(node);
    const isPattern = node.type === 'VariableDeclarator' && node['id'].type === 'ObjectPattern';
    if (isPattern && node['init']?.type === 'Identifier' && isOfProcesses(node['init'])) add(node);
  });
  return { calls, wrong };
};

it.each(folders)('every program of %s keeps running on Ctrl-C', (folder) => {
  const found = readdirSync(folder).map((name) => findCalls(readFileSync(join(folder, name), 'utf8')));
  expect(found.flatMap(({ wrong }) => wrong)).toEqual([]);
});
it.each([
  ['without options', 'host.processes.run(...call);'],
  ['with the option in a comment', `host.processes.run(a, b, { /* ${keptOption}: true */ timeoutMs: 1 });`],
  ['with the option in another call', `host.processes.run(a, b, {}); run(a, b, { ${keptOption}: true });`],
  ['with the option switched off', `host.processes.run(a, b, { ${keptOption}: false });`],
  ['of a destructured function', `const { run } = host.processes; run(a, b, { ${keptOption}: true });`],
  ['of a nested function', 'const { processes: { run } } = host; run(a, b);'],
  ['of processes under another name', 'const start = ({ processes: own }: Host) => own.run(a, b);'],
  [
    'of a function from processes in a parameter',
    'const f = ({ processes }: Host) => { const { run } = processes; };',
  ],
  ['of a function under another name', 'const start = host.processes.run; start(a, b);'],
  ['of processes that another function receives', 'start(host.processes);'],
])('the rule finds a call %s', (_, source) => expect(findCalls(source).wrong).not.toEqual([]));
it('the rule accepts a call with the option, also over other options', () => {
  const source = `host.processes.run(...call, { ...options, ${keptOption}: true });`;
  expect(findCalls(source)).toEqual({ calls: 1, wrong: [] });
});
it('finds the calls', () => {
  const count = (folder: string) =>
    readdirSync(folder).reduce(
      (sum, name) => sum + findCalls(readFileSync(join(folder, name), 'utf8')).calls,
      0,
    );
  expect(count('src/kv/upgrade/execute')).toBeGreaterThan(1);
  expect(count('src/kv/upgrade/supervisors')).toBeGreaterThan(5);
});
