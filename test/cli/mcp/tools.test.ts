/** The commands that become tools, and the allowed contents of a tool call. */
import { describe, expect, it } from 'vitest';
import type { Problem } from '../../../src/core/problem.ts';
import type { Argument, Flag } from '../../../src/core/flag.ts';
import { restoreNumbers } from '../../../src/core/json.ts';
import { effectsOf, showsFirst } from '../../../src/cli/read-only.ts';
import { globalFlags } from '../../../src/cli/options.ts';
import { groups } from '../../../src/commands/program.ts';
import {
  argvOf,
  checkArguments,
  type Allowed,
  MAX_USUAL_TOOLS,
  type Tool,
  toolsOf,
  usualTools,
} from '../../../src/cli/mcp/tools.ts';
import {
  approvals,
  type Caller,
  callTool,
  describeTool,
  withoutSecrets,
  withVisibleNames,
} from '../../../src/cli/mcp/call.ts';
import { errorWith, naming } from '../../support/facts.ts';
import { fakeHost } from '../../support/fake-host.ts';
import { partlyMade } from '../../support/context.ts';
import { readSources } from '../../support/sources.ts';

const commands = (await Promise.all(groups.map((group) => group.load()))).flat();
const none: Allowed = { mayWrite: false, groups: [], mayReadFiles: false, forAll: {}, forTools: {} };
const offered = (allowed: Partial<Allowed> = {}) => toolsOf(commands, { ...none, ...allowed });
const all = offered({ mayWrite: true, groups: ['all'] });
const named = (name: string, tools: readonly Tool[] = all): Tool => {
  const tool = tools.find((one) => one.name === name);
  if (tool === undefined) throw new Error(`no tool ${name}`);
  return tool;
};
const shared = ['cluster', 'endpoints', 'user', 'password-file'];
const problemsOf = (tool: Tool, given: Record<string, unknown>): string => {
  try {
    checkArguments(tool, given, shared);
    return '';
  } catch (error) {
    const { detail } = error as { detail: { problems: { path: string; message: string; hint?: string }[] } };
    return detail.problems.map(({ path, message, hint }) => `${path} ${message} ${hint ?? ''}`).join('\n');
  }
};
/** A valid value for each required argument. */
const requiredOf = (tool: Tool): Record<string, unknown> => {
  const types = tool.inputSchema.properties as Record<string, { type: string | string[] }>;
  const exampleOf = (type: string) =>
    ({ integer: 1, number: 1, boolean: true, array: [], object: {} })[type] ?? 'x';
  return Object.fromEntries(
    (tool.inputSchema.required as string[]).map((name) => [
      name,
      exampleOf([types[name]?.type].flat()[0] ?? ''),
    ]),
  );
};

describe('tools that only read', () => {
  const reading = all.filter(({ isReading }) => isReading);
  it('offer no argument with an effect', () => {
    expect(reading.length).toBeGreaterThan(100);
    const withEffect = reading.flatMap(({ name, offered: parameters }) =>
      parameters.filter(({ part }) => effectsOf(part)?.length !== 0).map((one) => `${name} ${one.name}`),
    );
    expect(withEffect).toEqual([]);
  });
  it('read-only tools include no command that writes a file', () => {
    expect(reading.filter(({ command }) => (command.effects ?? []).length > 0)).toEqual([]);
    expect(named('tracker_files_download').isReading).toBe(false);
  });
  it('reject every hidden argument and every global flag', () => {
    for (const tool of reading) {
      const args: readonly Argument[] = tool.command.args ?? [];
      const parts: [string, Flag | Argument][] = [
        ...args.map((part): [string, Argument] => [part.name, part]),
        ...Object.entries({ ...globalFlags, ...tool.command.flags } as Record<string, Flag>),
      ];
      const own = new Set([...tool.offered.map(({ name }) => name), 'jq']);
      for (const [name] of parts.filter(([one]) => !own.has(one)))
        expect([tool.name, name, problemsOf(tool, { ...requiredOf(tool), [name]: 'x' })]).toEqual([
          tool.name,
          name,
          naming(name, 'not an argument'),
        ]);
    }
  });
  it('accept their required arguments', () => {
    for (const tool of all) expect([tool.name, problemsOf(tool, requiredOf(tool))]).toEqual([tool.name, '']);
  });
  it('name the start-up flag that gives a hidden value', () => {
    expect(problemsOf(named('kv_check'), { cluster: 'c.yaml' })).toContain('opsctl mcp --cluster VALUE');
    expect(problemsOf(named('kv_plan'), { out: 'x' })).toContain('opsctl mcp --set kv_plan.out=VALUE');
  });
});

describe('a change', () => {
  it('is announced as destructive, and never as read-only', () => {
    const announced = all.map((tool) => [tool, describeTool(tool).annotations] as const);
    for (const [{ name, command, isReading }, { readOnlyHint, destructiveHint }] of announced) {
      expect([name, readOnlyHint, destructiveHint]).toEqual([name, isReading, !isReading]);
      const mayChange =
        showsFirst(command.path.join(' ')) ||
        command.noDryRun !== undefined ||
        (command.operation !== undefined && command.operation.operation.method !== 'GET');
      expect([name, readOnlyHint && mayChange]).toEqual([name, false]);
    }
    expect(announced.filter(([, { destructiveHint }]) => destructiveHint).length).toBeGreaterThan(100);
  });
  it('offers no argument that runs a program or chooses where requests and secrets go', () => {
    const hidden = all
      .filter(({ isReading }) => !isReading)
      .flatMap(({ name, offered: parameters }) =>
        parameters
          .filter(({ part }) => part.effects?.some((one) => one === 'runs' || one === 'sends'))
          .map((one) => `${name} ${one.name}`),
      );
    expect(hidden).toEqual([]);
  });
  it('a change accepts a text for the service that starts with a dash', () => {
    const tool = named('tracker_labels_create');
    expect(problemsOf(tool, { name: 'x', description: '- a list' })).toBe('');
    expect(argvOf(tool, { name: 'x', description: '- a list' })).toContain('--description=- a list');
  });
});

describe('approval tokens', () => {
  it('are accepted as arguments, and allow one call once', () => {
    const tool = named('labels_apply');
    const tokens = approvals(Buffer.alloc(32, 7), () => 0);
    for (let n = 0; n < 500; n += 1) {
      const approval = tokens.issue('a call', `${n}`);
      expect(problemsOf(tool, { file: ['x.yaml'], approval })).toBe('');
      const uses = [
        tokens.redeem(approval, 'another call', `${n}`),
        tokens.redeem(approval, 'a call', `${n}`),
      ];
      expect([...uses, tokens.redeem(approval, 'a call', `${n}`)]).toEqual([false, true, false]);
    }
  });
});

const rulesOf = (tool: Tool, given: Record<string, unknown>): string[] => {
  try {
    checkArguments(tool, given, shared);
    return [];
  } catch (error) {
    const { detail } = error as { detail: { problems: Problem[] } };
    return detail.problems.map(({ path, rule }) => `${path} ${rule}`);
  }
};
describe('arguments of a call', () => {
  it.each<[string, Record<string, unknown>, string]>([
    ['tracker_labels_get', { label: 'x', nosuch: 1 }, 'nosuch unknown'],
    ['tracker_labels_get', { label: '--help' }, 'label rule'],
    ['tracker_labels_get', { label: '-' }, 'label rule'],
    ['tracker_labels_get', { label: ['x'] }, 'label type'],
    ['tracker_labels_get', { label: { a: 1 } }, 'label type'],
    ['tracker_labels_get', { label: null }, 'label type'],
    ['tracker_labels_get', { label: 'a\0b' }, 'label format'],
    ['tracker_labels_get', {}, 'label required'],
    ['tracker_labels_get', { label: 'x', jq: ['.'] }, 'jq type'],
    ['tracker_labels_get', JSON.parse('{"label":"x","__proto__":{"a":1}}'), '__proto__ unknown'],
    ['tracker_labels_get', { label: 'x', constructor: 'y' }, 'constructor unknown'],
    ['tracker_stories_get', { story: '5' }, 'story type'],
    ['tracker_stories_get', { story: 1.5 }, 'story type'],
    ['tracker_stories_get', { story: [5] }, 'story type'],
    ['tracker_labels_list', { slim: 'true' }, 'slim type'],
    ['tracker_search', { query: 'x', type: 'story' }, 'type type'],
    ['tracker_search', { query: 'x', type: ['-x'] }, 'type rule'],
    ['tracker_labels_create', { body: '@/etc/passwd' }, 'body rule'],
    ['tracker_labels_create', { body: '-' }, 'body rule'],
    ['tracker_labels_create', { name: 'x', 'description-file': '-' }, 'description-file rule'],
    ['tracker_labels_create', { name: 'x', 'description-file': '@f' }, 'description-file rule'],
    ['tracker_apply', { file: '-' }, 'file rule'],
  ])('%s %j is rejected', (name, given, expected) => {
    expect(rulesOf(named(name), given)).toEqual([expected]);
  });
  it('a line of the protocol keeps an argument named __proto__ visible', () => {
    const line = (name: string) => `{"id":1,"params":{"name":"x","arguments":{"label":"x","${name}":1}}}`;
    for (const name of ['__proto__', String.raw`\u005f_proto__`])
      expect(JSON.parse(withVisibleNames(line(name))).params.arguments).toEqual({
        label: 'x',
        '__proto__ ': 1,
      });
    expect(withVisibleNames(line('other'))).toBe(line('other'));
    expect(withVisibleNames('{"__proto__"')).toBe('{"__proto__"');
  });
  it('a list stays a list for any content of its items', () => {
    const words = argvOf(named('tracker_epics_create'), { name: 'x', label: ['[1]', 'a,b'] });
    expect(words).toContain('--label=["[1]","a,b"]');
  });
  it('an argument after a missing one is rejected', () => {
    const tool = named('kv_get', offered({ groups: ['kv'] }));
    expect(argvOf(tool, { 'key-name': 'a', 'range-end': 'b' })).toEqual(['kv', 'get', '--', 'a', 'b']);
    expect(() => argvOf(tool, { 'range-end': 'b' })).toThrow();
  });
});

describe('the list of tools', () => {
  it.each([false, true])(
    `the list has at most ${MAX_USUAL_TOOLS} entries without --group (--allow-write: %s)`,
    (mayWrite) => {
      const tools = offered({ mayWrite });
      expect(tools.length).toBeGreaterThan(30);
      expect(tools.length).toBeLessThanOrEqual(MAX_USUAL_TOOLS);
      expect(usualTools(mayWrite).length).toBeLessThanOrEqual(MAX_USUAL_TOOLS);
    },
  );
  it('the list has every usual tool when files may be read', () => {
    for (const mayWrite of [false, true]) {
      const names = offered({ mayWrite, mayReadFiles: true }).map(({ name }) => name);
      expect(names.toSorted()).toEqual([...usualTools(mayWrite)].toSorted());
    }
  });
  it('the list has the tools of a group, of a name prefix, or all', () => {
    expect(offered({ groups: ['labels'] }).every(({ name }) => name.startsWith('labels_'))).toBe(true);
    expect(offered({ groups: ['tracker stories'] }).map(({ name }) => name)).toContain(
      'tracker_stories_history',
    );
    expect(offered({ groups: ['kv_member'] }).map(({ name }) => name)).toEqual(['kv_member_list']);
    expect(offered({ groups: ['all'] }).length).toBeGreaterThan(100);
    expect(() => offered({ groups: ['nosuch'] })).toThrow('unknown --group: "nosuch"');
  });
});

describe('values of the start-up', () => {
  it('hold for every tool that has the flag', () => {
    const tools = offered({ groups: ['all'], forAll: { cluster: 'c.yaml' } });
    expect(argvOf(named('kv_check', tools), {})).toEqual(['kv', 'check', '--cluster=c.yaml']);
    expect(argvOf(named('tracker_labels_list', tools), {})).toEqual(['tracker', 'labels', 'list']);
    expect(problemsOf(named('kv_check', tools), { cluster: 'other' })).toEqual(
      naming('cluster', 'not an argument', '--cluster'),
    );
  });
  it('fix an argument of one tool, which no call replaces', () => {
    const forTools = { kv_snapshot_verify: { file: 's.db', restore: 'true', ctl: './etcdctl' } };
    const tool = named('kv_snapshot_verify', offered({ forTools }));
    expect(argvOf(tool, {})).toEqual([
      ...['kv', 'snapshot', 'verify', '--restore=true', '--ctl=./etcdctl'],
      ...['--', 's.db'],
    ]);
    expect(problemsOf(tool, { file: 'x' })).toEqual(
      naming('file', 'not an argument', '--set', 'kv_snapshot_verify.file'),
    );
  });
  it('start-up values are rejected for an unknown tool or argument', () => {
    expect(() => offered({ forTools: { nosuch: { a: '1' } } })).toThrow(
      errorWith('usage', 'tool', '--set', 'nosuch'),
    );
    expect(() => offered({ forTools: { kv_plan: { nosuch: '1' } } })).toThrow(
      errorWith('usage', 'kv_plan', 'argument', 'nosuch'),
    );
  });
  it('--files offers arguments that only read files', () => {
    const lint = named('labels_lint', offered({ mayReadFiles: true }));
    expect(lint.offered.map(({ name }) => name)).toEqual(expect.arrayContaining(['file', 'rules']));
    expect(offered().map(({ name }) => name)).not.toContain('labels_lint');
    const plan = named('kv_plan', offered({ mayReadFiles: true }));
    expect(plan.offered.map(({ name }) => name)).not.toContain('out');
  });
});

describe('secrets in the output of a call', () => {
  const shown = (text: string): string => withoutSecrets(text).text;
  it.each([
    ['one document', '{"id":1,"token":"planted"}', '{\n  "id": 1,\n  "token": "***"\n}\n'],
    ['JSON lines', '{"token":"planted"}\n{"name":"a"}\n', '{"token":"***"}\n{"name":"a"}\n'],
    ['a line between messages', 'note\n{"data":{"apiKey":"planted"}}', 'note\n{"data":{"apiKey":"***"}}'],
    ['the code of an error', 'note\n{"code":"NOT_FOUND"}', 'note\n{"code":"NOT_FOUND"}'],
    [
      'a message',
      'warning: the access token expires in 5 minutes',
      'warning: the access token expires in 5 minutes',
    ],
    ['an unfinished list', '[{"name":"a"}\n', '[{"name":"a"}'],
    ['plain text', 'first\n\nsecond\n', 'first\n\nsecond\n'],
  ])('%s', (_, text, expected) => {
    expect(shown(text).trimEnd()).toBe(expected.trimEnd());
  });
  it.each([
    ['a list without an end', '[\n  {"id":1,"token":"planted"},\n  {"id":2}', '"id": 2'],
    ['a list that ends after a comma', '[{"id":1,"token":"planted"},', '"id": 1'],
    ['an object without an end', '{"secret":[\n"planted"\n', 'may contain a secret'],
    ['a message with a value', 'note\nthe body is token=planted', 'note\n('],
    ['a message with a quoted value', 'note\n<a "client_secret": "planted">', 'note\n('],
  ])('%s does not show a secret', (_, text, kept) => {
    expect(shown(text)).not.toContain('planted');
    expect(shown(text)).toContain(kept);
  });
  it('a text with a masked field keeps the exact numbers of the service', () => {
    expect(shown('{"id":12345678901234567890,"token":"x"}')).toContain('"id": 12345678901234567890');
    expect(shown('{"id":12345678901234567890,"token":"x"}\n{}')).toContain('"id":12345678901234567890');
    const { value } = withoutSecrets('{"id":12345678901234567890,"token":"x"}');
    expect(restoreNumbers(JSON.stringify(value))).toBe('{"id":12345678901234567890,"token":"***"}');
  });
  it('an error has neither the secrets of its rows nor those of the response', async () => {
    const run = async () => ({
      code: 5,
      stdout: '[{"id":1,"token":"planted"}\n',
      stderr: 'note\n{"code":"BROKEN","data":{"apiKey":"planted"}}\n',
    });
    const host = { self: ['opsctl'], processes: { ...fakeHost().processes, run } };
    const caller = partlyMade<Caller>({
      host,
      approvals: {},
      always: [],
      sharedFlags: [],
      directories: [],
    });
    const { isError, content } = await callTool(caller, all, 'tracker_labels_list', {});
    expect(isError).toBe(true);
    expect(content[0]?.text).toContain('"code":"BROKEN"');
    expect(content[0]?.text).toContain('"id": 1');
    expect(content[0]?.text).not.toContain('planted');
  });
});

it.each([
  ['a dry run that a person approves', 'tracker_labels_create', { name: 'bug' }],
  ['a result', 'tracker_labels_list', {}],
  ['an unknown tool', 'no\u202e_\u{e0041}tool', {}],
])('the text of %s shows characters that a person would not see', async (_, name, given) => {
  const machine = fakeHost();
  const hidden = 'safe\u202egpj.exe\u200b\u{e0041}';
  const run = async (__: string, ___: unknown, { input = '' }: { input?: string } = {}) => {
    const directory = (JSON.parse(input) as string[])
      .find((word) => word.startsWith('--approved-files='))
      ?.split('=')[1];
    await machine.files.replace(`${directory}/files.json`, '{"found":{},"sha256":"none"}');
    return { code: 0, stdout: `{"name":"${hidden}","family":"\u{1f468}\u200d\u{1f469}"}`, stderr: '' };
  };
  const caller = partlyMade<Caller>({
    host: { ...machine, self: ['opsctl'], processes: { ...machine.processes, run } },
    approvals: approvals(Buffer.alloc(32, 7), () => 0),
    always: [],
    sharedFlags: [],
    directories: [],
  });
  const { content, isError, structuredContent } = await callTool(caller, all, name, given);
  const text = content[0]?.text ?? '';
  expect(text).not.toMatch(/[\u202e\u200b\u{e0041}]/u);
  // Clients pass the decoded value to the model.
  expect(JSON.stringify(structuredContent ?? {})).not.toMatch(/[\u202e\u200b\u{e0041}]/u);
  expect(text).toContain(String.raw`\u202e`);
  if (isError === true) return;
  // Escapes of JSON do not change the value, and joiners of emoji stay.
  const { family, name: shown } = JSON.parse(text.slice(text.indexOf('{'), text.lastIndexOf('}') + 1));
  expect([shown, family]).toEqual([hidden, '\u{1f468}\u200d\u{1f469}']);
  const value = Object.values(structuredContent ?? {}).find((one) => typeof one === 'object');
  expect(value).toEqual({
    name: String.raw`safe\u202egpj.exe\u200b\udb40\udc41`,
    family: '\u{1f468}\u200d\u{1f469}',
  });
});
it('no source makes the value of a result without the rule for invisible characters', () => {
  const texts = readSources().filter(([, text]) => /structuredContent\s*:/.test(text));
  expect(texts.map(([name]) => name)).toEqual(['cli/mcp/call.ts']);
  expect(texts[0]?.[1].match(/structuredContent: .*/g)).toEqual([
    'structuredContent: visibleValue(value) as Record<string, unknown>,',
  ]);
});
it.each([
  { earlier: 'an earlier command sent it', sendsAgain: true },
  { earlier: undefined, sendsAgain: false },
])('an approval of a request that $earlier sends it again: $sendsAgain', async ({ earlier, sendsAgain }) => {
  const lines: string[][] = [];
  const machine = fakeHost();
  const run = async (_: string, __: unknown, { input = '' }: { input?: string } = {}) => {
    const words = JSON.parse(input) as string[];
    lines.push(words);
    const directory = words.find((word) => word.startsWith('--approved-files='))?.split('=')[1];
    await machine.files.replace(`${directory}/files.json`, '{"found":{},"sha256":"none"}');
    return {
      code: 0,
      stdout: JSON.stringify({ dry_run: true, url: '/labels', sent_before: earlier }),
      stderr: '',
    };
  };
  const caller = partlyMade<Caller>({
    host: { ...machine, self: ['opsctl'], processes: { ...machine.processes, run } },
    approvals: approvals(Buffer.alloc(32, 7), () => 0),
    always: [],
    sharedFlags: [],
    directories: [],
  });
  const first = await callTool(caller, all, 'tracker_labels_create', { name: 'bug' });
  expect(first.content[0]?.text.includes('earlier command')).toBe(sendsAgain);
  const approval = first.structuredContent?.approval;
  await callTool(caller, all, 'tracker_labels_create', { name: 'bug', approval });
  expect(lines).toHaveLength(3);
  expect(lines.map((words) => words.includes('--send-again'))).toEqual([false, false, sendsAgain]);
});
