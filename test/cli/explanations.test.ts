import { readFileSync, readdirSync } from 'node:fs';
import { parseAst } from 'rolldown/parseAst';
import { expect, test } from 'vitest';
import { explanationOf } from '../../src/cli/explain.ts';
import { findCommand } from '../../src/cli/command.ts';
import { parseCommand } from '../../src/cli/parse.ts';
import { groups } from '../../src/commands/program.ts';
import { keys } from '../../src/config/settings.ts';
import { exitCodes } from '../../src/core/problem.ts';
import { guards } from '../../src/kv/upgrade/guards/all.ts';
import { errorExplanations } from '../../src/reference/explanations/errors.ts';
import { guardExplanations } from '../../src/reference/explanations/guards.ts';
import { exitExplanations, settingExplanations } from '../../src/reference/explanations/settings.ts';
import { makeDirectory } from '../support/directory.ts';
import { errorOf, naming } from '../support/facts.ts';
import { opsctl } from '../support/program.ts';

const root = new URL('../../src/', import.meta.url).pathname;
/** These folders contain codes of the simulated services, which opsctl passes on. */
const isSimulated = (path: string): boolean =>
  /^(?:mock-server|etcd-sim|reference\/explanations)\//.test(path);
const files = readdirSync(root, { recursive: true })
  .map(String)
  .filter(
    (path) => path.endsWith('.ts') && !path.endsWith('.d.ts') && !path.startsWith('reference/explanations/'),
  );

type Raised = { readonly code: string; readonly category?: string };
const isCode = (value: unknown): value is string =>
  typeof value === 'string' && /^[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*$/.test(value) && value.length > 1;
/** Returns the codes in `code: 'X'` and `code: a ? 'X' : 'Y'`. `category` is set directly inside `new AppError`. */
const codesIn = (source: string): Raised[] => {
  const found: Raised[] = [];
  if (!/\bcode:/.test(source)) return found;
  const visit = (node: any, category?: string): void => {
    if (node === null || typeof node !== 'object') return;
    if (Array.isArray(node)) {
      for (const one of node) visit(one, category);
      return;
    }
    if (node.type === 'NewExpression' && node.callee.name === 'AppError')
      category = node.arguments[0]?.type === 'Literal' ? node.arguments[0].value : undefined;
    if (node.type === 'Property' && node.key?.name === 'code')
      for (const value of [node.value, node.value.consequent, node.value.alternate])
        if (isCode(value?.value)) found.push({ code: value.value, ...(category ? { category } : {}) });
    for (const [key, value] of Object.entries(node)) if (key !== 'parent') visit(value, category);
  };
  visit(parseAst(source, { lang: 'ts' }));
  return found;
};
const sources = files.map((path) => readFileSync(`${root}${path}`, 'utf8'));
const raised = sources.flatMap((text, at) =>
  codesIn(text).filter(({ category }) => category !== undefined || !isSimulated(files[at] ?? '')),
);

/** Error names of Node.js for failed sockets and files, which the code compares and never prints as a code. */
const ofNode = /^E[A-Z]+$|^ERR_/;

test('the explanation table has a row for every error code in the source', () => {
  const missing = raised
    .map(({ code }) => code)
    .filter((code) => !ofNode.test(code) && !errorExplanations[code]);
  expect([...new Set(missing)]).toEqual([]);
});

test('every finding that can refuse a cluster operation has an explanation', () => {
  const known = new Set(Object.keys(guardExplanations));
  const named = sources.flatMap((text, at) =>
    /^kv\//.test(files[at] ?? '')
      ? [...text.matchAll(/(?:\bguard: |\bcondition\(\s*)'(?!text')([a-z0-9-]+)'/g)].map(([, id = '']) => id)
      : [],
  );
  expect(named.length).toBeGreaterThan(20);
  const codeOf = (id: string): string => id.toUpperCase().replaceAll('-', '_');
  expect([...new Set(named)].filter((id) => !known.has(id) && !errorExplanations[codeOf(id)])).toEqual([]);
});

test('the explanation table contains only codes that the source raises, with their category', () => {
  const text = sources.join('\n');
  // A refused plan has the name of its finding as its code.
  const findingOf = (code: string): string => code.toLowerCase().replaceAll('_', '-');
  const isRaised = (code: string): boolean =>
    [`'${code}'`, `guard: '${findingOf(code)}'`].some((words) => text.includes(words)) ||
    new RegExp(`condition\\(\\s*'${findingOf(code)}'`).test(text);
  expect(Object.keys(errorExplanations).filter((code) => !isRaised(code))).toEqual([]);
  const categories = new Map<string, Set<string>>();
  for (const { code, category } of raised)
    if (category !== undefined) categories.set(code, (categories.get(code) ?? new Set()).add(category));
  const different = [...categories]
    .filter(([code, found]) => errorExplanations[code] && !found.has(errorExplanations[code]?.category ?? ''))
    .map(([code, found]) => `${code}: ${errorExplanations[code]?.category}, source: ${[...found]}`);
  expect(different).toEqual([]);
});

test('every guard, exit code and setting has an explanation', () => {
  expect(Object.keys(guardExplanations).sort()).toEqual(guards.map(({ id }) => id).sort());
  expect(Object.keys(exitExplanations).sort()).toEqual(Object.keys(exitCodes).sort());
  expect(Object.keys(settingExplanations).sort()).toEqual(keys.map(({ key }) => key).sort());
});

test('each error code has one explanation', () => {
  const folder = 'src/reference/explanations';
  const codes = readdirSync(folder).flatMap((file) =>
    [...readFileSync(`${folder}/${file}`, 'utf8').matchAll(/^ {2}([A-Z][A-Z_]+): \{$/gm)].map(
      ([, code]) => code,
    ),
  );
  expect(codes.length).toBeGreaterThan(100);
  expect(codes.filter((code, at) => codes.indexOf(code) !== at)).toEqual([]);
});
test('explanations are complete sentences', () => {
  const rows = [errorExplanations, guardExplanations, exitExplanations].flatMap((table) =>
    Object.entries(table),
  );
  const faults = rows.flatMap(([name, row]) =>
    [row.fix, ...row.causes, ...('meaning' in row ? [row.meaning as string] : [])]
      .filter((text) => !/^["A-Z0-9a-z_-].*\.$/.test(text) || text.includes('…'))
      .map((text) => `${name}: ${text}`),
  );
  expect(faults).toEqual([]);
});

const wordsOf = (line: string): string[] =>
  [...(line.split(/ (?:\||>>?|<|&&) /)[0] ?? '').matchAll(/(?:'[^']*'|"[^"]*"|[^\s'"]+)+/g)].map(([word]) =>
    word.replaceAll(/'([^']*)'|"([^"]*)"/g, '$1$2'),
  );
test('every opsctl command in an example exists and accepts its flags', async () => {
  const faults: string[] = [];
  const tables = [errorExplanations, guardExplanations, exitExplanations, settingExplanations];
  for (const { example } of tables.flatMap((table) => Object.values(table))) {
    const words = wordsOf(example.replace(/^[A-Z_]+=(?:"[^"]*"|\S+) /, ''));
    if (words[0] !== 'opsctl' || words[1] === '--help') continue;
    const group = groups.find(({ name }) => name === words[1]);
    const commands = (await group?.load(words.slice(1))) ?? [];
    let found: ReturnType<typeof findCommand> | undefined;
    try {
      found = findCommand(commands, words.slice(1));
    } catch {
      found = undefined;
    }
    if (found?.kind !== 'command') faults.push(`${example}: no command`);
    else if (!words.includes('--help'))
      await parseCommand(found.command, words.slice(1 + found.used)).catch((error: any) =>
        faults.push(`${example}: ${JSON.stringify(error.detail?.problems)}`),
      );
  }
  expect(faults).toEqual([]);
});

test('codes of guards and of network failures have a page', async () => {
  expect((await explanationOf(['QUORUM_SURVIVES']))?.title).toBe('quorum-survives');
  expect((await explanationOf(['NETWORK_ECONNREFUSED']))?.title).toEqual(naming('11'));
  expect(await explanationOf(['NO_SUCH_CODE'])).toBeUndefined();
});

test('explain prints text into a pipe, and JSON for a program that asks for it', async () => {
  const run = (...more: string[]) => opsctl(['explain', 'NO_TOKEN', ...more], { home: makeDirectory() });
  const { code, stdout } = await run();
  expect([code, stdout]).toEqual([0, expect.stringContaining('opsctl config set tracker.token')]);
  expect(stdout).not.toContain('"kind"');
  expect(JSON.parse((await run('-o', 'json')).stdout)).toMatchObject({ title: 'NO_TOKEN' });
  expect((await run('--jq', '.title')).stdout).toBe('NO_TOKEN\n');
});

test('explain points to the help of a command, and knows the singular of a resource', async () => {
  const failed = await opsctl(['explain', 'kv', 'upgrade', '-o', 'json'], { home: makeDirectory() });
  expect(errorOf(failed)).toMatchObject({
    code: 'NOTHING_TO_EXPLAIN',
    hints: [expect.toRead('opsctl kv upgrade --help'), expect.toRead('opsctl explain')],
  });
  expect((await explanationOf(['story.estimate']))?.title).toBe('story.estimate');
  expect(await explanationOf(['story.estimat'])).toBeUndefined();
});
