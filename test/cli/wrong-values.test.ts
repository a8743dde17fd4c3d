/** Invalid values never reach a service: exit code 2 or 3, the name of the flag or variable, and no request that writes. */
import { expect, test } from 'vitest';
import type { Command } from '../../src/cli/command.ts';
import { runProgram } from '../../src/cli/run.ts';
import { program } from '../../src/commands/program.ts';
import { inWords } from '../../src/core/check.ts';
import { keys } from '../../src/config/settings.ts';
import { type Field, bare } from '../../src/core/field.ts';
import { type Flag, flagName } from '../../src/core/flag.ts';
import { trackerNames } from '../../src/tracker/names/name-resolution.ts';
import { fieldsOf, goodLine, goodValue, listCommands, requiredFlags } from '../support/command-lines.ts';
import { fakeHost } from '../support/fake-host.ts';

const settings = {
  HOME: '/home/user',
  OPSCTL_HOME: '/home/user/opsctl',
  OPSCTL_KEYCHAIN: 'never',
  OPSCTL_TRACKER_URL: 'https://tracker.example',
  OPSCTL_TRACKER_TOKEN: 'token-1',
  OPSCTL_LABELS_URL: 'https://labels.example',
  OPSCTL_LABELS_TOKEN: 'token-2',
};
type Wrong = {
  readonly argv: readonly string[];
  /** The flag, the argument or the variable that the error must name. */
  readonly names: string;
  readonly env?: Readonly<Record<string, string>>;
};
type ErrorJson = {
  readonly message: string;
  readonly problems: readonly { readonly path: string; readonly message: string }[];
};

/** Returns the defect in the error that opsctl prints for a line; undefined if the error is correct. */
const faultOf = async ({ argv, names, env = {} }: Wrong): Promise<string | undefined> => {
  const host = fakeHost({ env: { ...settings, ...env }, reply: () => ({ body: {} }) });
  const code = await runProgram(host, [...argv, '-o', 'json', '--yes'], program);
  const line = `${JSON.stringify(env)} opsctl ${argv.join(' ')}: exit ${code}`;
  const writes = host.requests.filter(({ method }) => method !== 'GET');
  if (writes.length > 0) return `${line}, sent ${writes[0]?.method} ${writes[0]?.url}`;
  if (code !== 2 && code !== 3) return `${line}, ${host.err().slice(0, 200)}`;
  let error: ErrorJson;
  try {
    error = JSON.parse(host.err()) as ErrorJson;
  } catch {
    return `${line}, stderr is not one JSON object: ${host.err().slice(0, 200)}`;
  }
  const isNamed =
    error.message.includes(names) ||
    error.problems.some(({ path, message }) => `${path} ${message}`.includes(names));
  return isNamed ? undefined : `${line}, ${names} is not named: ${host.err().slice(0, 300)}`;
};
const faultsOf = async (lines: readonly Wrong[]): Promise<string[]> => {
  const faults: string[] = [];
  for (const line of lines) {
    const fault = await faultOf(line);
    if (fault !== undefined) faults.push(fault);
  }
  return faults;
};

const emptyLines = (command: Command): Wrong[] => {
  const flags = Object.entries(command.flags ?? {}).flatMap(([name, flag]: [string, Flag]) =>
    flag.allowsEmpty || bare(flag.field).type === 'boolean'
      ? []
      : [{ argv: [...goodLine(command, [name]), `--${name}=`], names: `--${name}` }],
  );
  const args = (command.args ?? []).flatMap((one, at, all) =>
    one.allowsEmpty
      ? []
      : [
          {
            argv: [
              ...command.path,
              ...all.slice(0, at).map(({ field }) => goodValue(field)),
              '',
              ...all.slice(at + 1).flatMap(({ optional, field }) => (optional ? [] : [goodValue(field)])),
              ...requiredFlags(command).map(
                (name) => `--${name}=${goodValue(command.flags?.[name]?.field ?? { type: 'string' })}`,
              ),
            ],
            names: `<${one.name}>`,
          },
        ],
  );
  return [...flags, ...args];
};
test('opsctl rejects an empty value of every flag and argument, unless it has a meaning', async () => {
  const lines = (await listCommands()).flatMap(emptyLines);
  expect(lines.length).toBeGreaterThan(1500);
  expect(await faultsOf(lines)).toEqual([]);
});

/** Values that the field does not allow: other words than those of an enumeration, other forms, and each limit exceeded by one. */
const badValues = (field: Field): string[] => {
  const inner = bare(field);
  if (inner.type === 'array') return badValues(inner.items);
  if (inner.type === 'boolean') return ['perhaps'];
  if (inner.type === 'integer' || inner.type === 'number')
    return [
      'many',
      ...(inner.min === undefined ? [] : [String(inner.min - 1)]),
      ...(inner.max === undefined ? [] : [String(inner.max + 1)]),
    ];
  if (inner.type !== 'string') return [];
  // The command line uses the name of a record in place of its ID.
  const isChecked = inner.format !== undefined && inner.format !== 'fieldmask' && inner.format !== 'byte';
  return [
    ...(inner.enum === undefined || inner.open === true ? [] : [`${inner.enum[0] ?? ''}-other`]),
    ...(isChecked ? ['not/of this form'] : []),
    ...(inner.pattern === undefined ? [] : ['\u0001 §']),
    ...(inner.max === undefined || inner.max > 5000 ? [] : ['x'.repeat(inner.max + 1)]),
  ];
};
const outOfRange = (command: Command): Wrong[] => [
  ...Object.entries(command.flags ?? {}).flatMap(([name, flag]: [string, Flag]) =>
    badValues(flag.field).map((value) => ({
      argv: [...goodLine(command, [name]), `--${name}=${value}`],
      names: `--${name}`,
    })),
  ),
  ...(command.args ?? []).flatMap((one, at, all) =>
    badValues(one.field).map((value) => ({
      argv: [
        ...command.path,
        ...all.slice(0, at).map(({ field }) => goodValue(field)),
        value,
        ...all.slice(at + 1).flatMap(({ optional, field }) => (optional ? [] : [goodValue(field)])),
        ...requiredFlags(command).map(
          (name) => `--${name}=${goodValue(command.flags?.[name]?.field ?? { type: 'string' })}`,
        ),
      ],
      names: `<${one.name}>`,
    })),
  ),
];
test('opsctl rejects values of every flag and argument that their fields do not allow', async () => {
  const lines = (await listCommands()).flatMap(outOfRange);
  expect(lines.length).toBeGreaterThan(1500);
  expect(await faultsOf(lines)).toEqual([]);
});

/** These commands read the value from another source: a record, a file, or a default. */
const fillsIn = ['tracker stories clone', 'tracker iterations rollover', 'tracker search', 'labels create'];
test('opsctl names every required flag that is missing', async () => {
  const commands = (await listCommands()).filter(({ path }) => !fillsIn.includes(path.join(' ')));
  const lines = commands.flatMap((command) =>
    requiredFlags(command).map((name) => ({ argv: goodLine(command, [name]), names: `--${name}` })),
  );
  expect(lines.length).toBeGreaterThan(90);
  expect(await faultsOf(lines)).toEqual([]);
});

const isList = (flag: Flag | undefined): boolean => flag !== undefined && bare(flag.field).type === 'array';
/** Pairs of flags that set one field to two values; opsctl joins two lists. */
const contradictions = (command: Command): [string, string][] => {
  const { flags = {}, path, operation } = command;
  const at = (name: string): string => `--${name}=${goodValue(flags[name]?.field ?? { type: 'string' })}`;
  const pairs: [string, string][] = [];
  for (const [field] of fieldsOf(command)) {
    const long = flagName(field);
    const alias = trackerNames.fields[field]?.alias ?? trackerNames.inputs[field]?.alias;
    if (flags[long] === undefined) continue;
    if (flags.unset !== undefined && bare(flags[long].field).type !== 'boolean' && flags[long].field.nullable)
      pairs.push([`--unset=${field}`, at(long)]);
    const isShort = path[0] === 'tracker' && alias !== undefined && flags[alias] !== undefined;
    const isOwn = isShort && flags[alias]?.summary.includes(`(${long})`) === true;
    if (isOwn && !(isList(flags[alias]) && isList(flags[long]))) pairs.push([at(alias), at(long)]);
  }
  for (const group of operation?.operation.exclusive ?? []) {
    const [first, second] = group.map(flagName);
    if (first !== undefined && second !== undefined && flags[first] && flags[second])
      pairs.push([at(first), at(second)]);
  }
  for (const [name, flag] of Object.entries(flags)) if (!isList(flag)) pairs.push([at(name), at(name)]);
  return pairs;
};
test('opsctl rejects two values for one field, and two flags that exclude each other', async () => {
  const lines = (await listCommands()).flatMap((command) =>
    contradictions(command).map(([first, second]) => {
      const names = [first, second].map((text) => text.slice(2).split('=')[0] ?? '');
      return { argv: [...goodLine(command, names), first, second], names: `--${names[1]}` };
    }),
  );
  expect(lines.length).toBeGreaterThan(1500);
  expect(await faultsOf(lines)).toEqual([]);
});

const wrongHeaders = [
  'bad name: x',
  'X-A: a\nb',
  'X-A: a\0b',
  'X-A: \u65e5',
  'X-\u00e9: 1',
  ': x',
  'Content-Length: 5',
  'Host: evil.example',
  'Transfer-Encoding: chunked',
];
test.each(wrongHeaders)('opsctl api rejects the header %j', async (header) => {
  const services = ['tracker', 'labels', 'api'];
  const lines = services.map((service) => ['api', service, 'POST', '/labels', '--header', header]);
  expect(await faultsOf(lines.map((argv) => ({ argv, names: '--header' })))).toEqual([]);
});
test('mock faults add rejects headers that HTTP does not allow', async () => {
  const add = ['mock', 'faults', 'add', '--path', '/x'];
  const headers = wrongHeaders.map((text) => text.replace(': ', '='));
  const lines = headers.map((text) => ({ argv: [...add, '--header', text], names: '--header' }));
  const type = { argv: [...add, '--content-type', 'a\nb'], names: '--content-type' };
  expect(await faultsOf([...lines, type])).toEqual([]);
});

const wrongUrls = [
  'notaurl',
  'ftp://x.example',
  'http://user:secret@x.example',
  'http://x.example',
  'https://',
];
const writeLine = ['tracker', 'labels', 'create', '--name', 'x'];
/** Returns a command that reads the setting. */
const lineFor = (key: string): readonly string[] | undefined => {
  const [service = ''] = key.split('.');
  if (keys.some((one) => one.key === key && one.words !== undefined && service === 'auth'))
    return ['login', '--no-browser'];
  // Only a sign-in with a configured server reads this setting.
  if (key === 'auth.revoke_url') return undefined;
  const lines: Readonly<Record<string, readonly string[]>> = {
    labels: ['labels', 'create', '--title', 'x', '--label-type', 'SHARED'],
    auth: ['auth', 'token'],
    api: ['media', 'get', '/x'],
    update_url: ['version', '--check'],
  };
  return key === 'access_token' ? ['media', 'get', '/x'] : (lines[service] ?? writeLine);
};
const wrongSettings = (): Wrong[] =>
  keys.flatMap((key) => {
    const argv = lineFor(key.key);
    if (key.env === undefined || argv === undefined || key.key === 'mock') return [];
    const byKind: Readonly<Record<string, readonly string[]>> = {
      url: wrongUrls,
      header: ['bad name', 'X-\u00e9', 'a\nb'],
      token: ['a\nb', 'a\0b', '\u65e5'],
      duration: ['soon', '-1'],
      count: ['soon', '-1'],
      rate: ['soon', '-1'],
    };
    const values = key.words === undefined ? (byKind[key.kind ?? ''] ?? []) : ['nosuchword'];
    return values.map((value) => ({ argv, names: key.env ?? '', env: { [key.env ?? '']: value } }));
  });
test('opsctl rejects a wrong value of every variable, and names the variable', async () => {
  const lines = wrongSettings();
  expect(lines.length).toBeGreaterThan(40);
  expect(await faultsOf(lines)).toEqual([]);
});
test('opsctl rejects a wrong OPSCTL_MOCK_URL in every command that uses it', async () => {
  const lines = [
    'mock status',
    'mock clock advance 1h',
    'mock reset',
    'mock stop',
    'mock requests',
    'mock snapshot save x',
    'mock faults add --status 500',
    'mock oauth users list',
    'mock oauth console',
  ];
  const wrong = ['notaurl', 'ftp://x.example'].flatMap((url) =>
    lines.map((line) => ({
      argv: line.split(' '),
      names: 'OPSCTL_MOCK_URL',
      env: { OPSCTL_MOCK_URL: url },
    })),
  );
  expect(await faultsOf(wrong)).toEqual([]);
});
test('opsctl names OPSCTL_KV_CLUSTER if its file does not exist', async () => {
  const env = { OPSCTL_KV_CLUSTER: '/nowhere/cluster.yaml' };
  const lines = ['kv status', 'kv check', 'kv put a b'].map((line) => ({
    argv: line.split(' '),
    names: 'OPSCTL_KV_CLUSTER',
    env,
  }));
  expect(await faultsOf(lines)).toEqual([]);
});
test('kv commands reject endpoints that are not addresses or contain a password', async () => {
  const commands = (await listCommands()).filter(({ path, flags }) => path[0] === 'kv' && flags?.endpoints);
  const typed = commands.filter(
    ({ path }) => !['add', 'compact', 'verify', 'update'].includes(path.at(-1) ?? ''),
  );
  const endpoints = ['notaurl:x', 'ftp://h:1', 'http://', 'http://user:secret@h:1', 'h:99999', 'a b'];
  const isLease = ({ path }: Command): boolean =>
    path[1] === 'lease' && path[2] !== 'grant' && path[2] !== 'list';
  const lines = typed
    .filter((command) => !isLease(command))
    .flatMap((command) =>
      endpoints.map((text) => ({
        argv: [...goodLine(command), `--endpoints=${text}`],
        names: '--endpoints',
      })),
    );
  expect(lines.length).toBeGreaterThan(100);
  expect(await faultsOf(lines)).toEqual([]);
});

test('stderr is one JSON object if a list fails after its first rows and warnings', async () => {
  const host = fakeHost({
    env: { ...settings, OPSCTL_PLAIN_HTTP_HOSTS: 'other.example' },
    reply: (_, count) => (count === 1 ? { body: '[{"id":1,"name":"a"},{"id":2,' } : { status: 500 }),
  });
  const code = await runProgram(host, ['tracker', 'labels', 'list', '-o', 'json'], program);
  expect(code).not.toBe(0);
  const { notes } = JSON.parse(host.err()) as { notes: string[] };
  expect(notes.join('\n')).toContain('OPSCTL_PLAIN_HTTP_HOSTS');
});

test.each([
  ['[{"description":"a","description":"b"}]', 'column', 'description'],
  ['[{"description":"a","external_id":12345678901234567890}]', 'column', '12345678901234567890'],
  ['[\n{"description":"a",}]', 'line 2, column', 'key'],
])('JSON in a flag is never repaired: %j', async (text, place, named) => {
  const host = fakeHost({ env: settings, reply: () => ({ body: {} }) });
  const line = ['tracker', 'stories', 'create', '--name', 'x', '--tasks', text, '-o', 'json', '--yes'];
  expect(await runProgram(host, line, program)).toBe(2);
  expect(host.requests.filter(({ method }) => method !== 'GET')).toEqual([]);
  const { problems } = JSON.parse(host.err()) as ErrorJson;
  expect(problems).toMatchObject([{ path: '--tasks', message: expect.stringMatching(new RegExp(place)) }]);
  expect(problems[0]?.message).toContain(named);
});

test('the error about a pattern is a sentence, and never a regular expression', async () => {
  const fieldsOf = ({ flags = {}, args = [] }: Command) => [...Object.values(flags), ...args];
  const patterns = (await listCommands())
    .flatMap(fieldsOf)
    .flatMap(({ field }) => ('pattern' in field && field.pattern !== undefined ? [field.pattern] : []));
  expect(new Set(patterns).size).toBeGreaterThan(10);
  expect([...new Set(patterns)].filter((pattern) => !Object.hasOwn(inWords, pattern))).toEqual([]);
});
