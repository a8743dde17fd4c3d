import { type Command, defineCommand, type Group, findCommand, findGroup } from '../cli/command.ts';
import { globalFlags, readSettingValue } from '../cli/options.ts';
import { readProfiles, secretsInSetting } from '../config/load.ts';
import { configFile, settingRows } from '../config/settings.ts';
import {
  changeProfiles,
  withConfigLock,
  knownKey,
  profileToChange,
  secretProblems,
  storedValue,
  withCurrent,
  withoutSetting,
  withSetting,
} from '../config/store.ts';
import { bool, refuseLongSecret, str, int, list as listOf } from '../core/field.ts';
import type { Argument, Flags, ValuesOf } from '../core/flag.ts';
import { next } from '../core/next.ts';
import { AppError, usageError, invalidArguments, messageOf, problem } from '../core/problem.ts';
import { nothing, rawResult, rowsResult, recordResult, type Result } from '../core/result.ts';
import { type Aliases, aliasFile, readAliases, splitLine, writeAliases } from '../cli/aliases.ts';
import type { Context } from '../api/context.ts';
import { formatRow } from '../core/format.ts';
import type { Finding } from '../support/doctor.ts';
import { serverFlags } from './auth/account.ts';

export const keyArgument = {
  name: 'key',
  effects: [],
  field: str(),
  summary: 'Name of the setting, such as tracker.url',
  complete: 'setting',
} as const satisfies Argument;

export const get = defineCommand({
  path: ['config', 'get'],
  summary: 'Print the value of one setting',
  args: [keyArgument],
  flags: { reveal: { effects: ['sends'], field: bool(), summary: 'Print the value even if it is a secret' } },
  examples: [{ line: 'opsctl config get tracker.url', says: 'Read a value in a script' }],
  async run({ settings }, values) {
    const key = knownKey(values.key);
    const setting = settings.get(key.key);
    if (setting === undefined) {
      throw new AppError('not-found', `${key.key} is not set`, {
        code: 'NOT_SET',
        tryThis: [`opsctl config set ${key.key} ${key.secret ? '--stdin' : '…'}`],
      });
    }
    if (!values.reveal && (key.secret || secretsInSetting(key, setting.value).length > 0))
      throw usageError(
        `${key.key} ${key.secret ? 'is' : 'contains'} a secret; it is printed only with --reveal`,
        [],
        [`opsctl config get ${key.key} --reveal`],
      );
    return rawResult(`${setting.value}\n`);
  },
});

const flags = {
  'show-origin': { effects: [], field: bool(), summary: 'Show the origin of each value' },
  all: { effects: [], field: bool(), summary: 'Include unset settings, with their environment variables' },
} as const satisfies Flags;
export const list = defineCommand({
  path: ['config', 'list'],
  summary: 'List the effective settings with redacted secrets',
  about:
    'A flag overrides an environment variable, which overrides the profile, which overrides the default.',
  flags,
  examples: [{ line: 'opsctl config list --show-origin', says: 'Show the origin of each setting' }],
  run: async ({ settings }, values) =>
    rowsResult(settingRows(settings, { all: values.all, showOrigin: values['show-origin'] }), {
      name: 'key',
    }),
});

export const path = defineCommand({
  path: ['config', 'path'],
  summary: 'Print the path of the configuration file',
  examples: [{ line: 'opsctl config path', says: 'Print the path of the file that contains the profiles' }],
  run: async ({ host }) => rawResult(`${configFile(host)}\n`),
});

export const profiles = defineCommand({
  path: ['config', 'profiles'],
  summary: 'List all profiles and mark the active profile',
  examples: [{ line: 'opsctl config profiles', says: 'Print the profiles as JSON' }],
  async run({ host, settings }) {
    const stored = readProfiles(host).profiles;
    const rows = settings.profiles.map((name) => ({
      name,
      in_use: name === settings.profile.name,
      settings: Object.keys(stored[name] ?? {}).length,
    }));
    return rowsResult(rows, { name: 'name' });
  },
});

const args = [
  keyArgument,
  {
    name: 'value',
    effects: [],
    field: str(),
    allowsEmpty: true,
    summary: 'Value of the setting; secrets only with --stdin',
    optional: true,
  },
] as const satisfies readonly Argument[];
export const set = defineCommand({
  path: ['config', 'set'],
  noDryRun: 'opsctl config list --show-origin shows what is set',
  summary: 'Store a setting in a profile',
  about:
    'Without --profile, changes the active profile. The built-in profile `mock` always refers to the embedded mock server. If no profile is set, URLs and tokens are stored in the profile `default`, which becomes active.',
  args,
  flags: { stdin: { effects: ['reads', 'sends'], field: bool(), summary: 'Read the value from stdin' } },
  examples: [
    {
      line: 'opsctl config set tracker.url https://tracker.example.com --profile work',
      says: 'Create a separate profile',
    },
    {
      line: 'printf %s "$TOKEN" | opsctl config set tracker.token --stdin --profile work',
      says: 'Store a secret without exposing it in the process list',
    },
  ],
  check: secretProblems,
  async run(context, values) {
    const key = knownKey(values.key);
    const profile = profileToChange(context.settings, key);
    const value = storedValue(key, await readSettingValue(context, key, values), context.host.cwd);
    if (key.secret) {
      context.log.hide(value);
      refuseLongSecret('usage', key.key, value);
    }
    await changeProfiles(context.host, (stored) => withSetting(stored, profile, key, value));
    return nothing(`${key.key} is set in profile ${profile}`);
  },
});

export const unset = defineCommand({
  path: ['config', 'unset'],
  noDryRun: 'opsctl config list --show-origin shows what is set',
  summary: 'Remove a setting from a profile',
  args: [keyArgument],
  examples: [{ line: 'opsctl config unset tracker.token --profile work', says: 'Remove a stored token' }],
  async run({ host, settings }, values) {
    const key = knownKey(values.key);
    const { name } = settings.profile;
    if (readProfiles(host).profiles[name]?.[key.key] === undefined)
      return nothing(`${key.key} was not set in profile ${name}`);
    await changeProfiles(host, (stored) => withoutSetting(stored, name, key));
    return nothing(`removed ${key.key} from profile ${name}`);
  },
});

export const use = defineCommand({
  path: ['config', 'use'],
  noDryRun: 'opsctl config profiles shows the profiles',
  summary: 'Switch the active profile',
  args: [
    {
      name: 'profile',
      field: str(),
      summary: 'Name of the profile; `mock` is the embedded mock server',
      complete: 'profile',
    },
  ],
  examples: [{ line: 'opsctl config use work', says: 'Use this profile for commands without --profile' }],
  async run({ host }, values) {
    await changeProfiles(host, (stored) => withCurrent(stored, values.profile));
    return nothing(`switched to profile ${values.profile}`);
  },
});

export const commands: readonly Command[] = [list, get, set, unset, path, profiles, use];

const aliasArgument = {
  name: 'alias',
  effects: [],
  field: str(64, { pattern: '^[a-z][a-z0-9-]*$' }),
  summary: 'Name of the alias: letters, digits and dashes',
} as const;
const missingAlias = (name: string, aliases: Aliases): AppError => {
  const names = Object.keys(aliases);
  return new AppError(
    'not-found',
    `alias not found: ${JSON.stringify(name)}${names.length > 0 ? `; one of: ${names.join(', ')}` : ''}`,
    { code: 'NO_ALIAS', tryThis: ['opsctl alias list'] },
  );
};

/** Throws if the line does not start with a command, or names a flag that the command does not have. */
const assertRuns = async (groups: readonly Group[], line: string): Promise<void> => {
  const words = splitLine(line);
  const found = findCommand(await findGroup(groups, words[0] ?? '').load(words), words);
  if (found.kind !== 'command') return;
  const { refuseUnknownFlags } = await import('../cli/list-commands.ts');
  const { command, used } = found;
  const flags = { ...globalFlags, ...command.flags };
  // The name of a flag may come from an argument of the alias.
  const known = words.slice(used).filter((word) => !/^-[^=]*\$[1-9]/.test(word));
  refuseUnknownFlags(command.path, known, flags);
};
const aliasListOver = (groups: readonly Group[]): Command =>
  defineCommand({
    path: ['alias', 'list'],
    summary: 'List all aliases and whether each one still runs',
    about:
      'An update of opsctl can remove a command or a flag. `state` is ok, or the reason why the alias does not run.',
    examples: [{ line: 'opsctl alias list', says: 'Print each alias with its command line and its state' }],
    run: async ({ host }) => {
      const rows = Object.entries(await readAliases(host)).map(async ([name, line]) => {
        const fault = await assertRuns(groups, line).then(() => undefined, messageOf);
        return { name, line, state: fault ?? 'ok' };
      });
      return rowsResult(await Promise.all(rows), {
        columns: ['name', 'line', 'state'],
        name: 'name',
        ifEmpty: next(['alias', 'set', '--help']),
      });
    },
  });
const aliasUnset = defineCommand({
  path: ['alias', 'unset'],
  noDryRun: 'opsctl alias list shows all aliases',
  summary: 'Remove an alias',
  args: [{ ...aliasArgument, complete: 'alias' }],
  run: async ({ host }, { alias: name }) => {
    await withConfigLock(host, async () => {
      const { [name]: line, ...others } = await readAliases(host);
      if (line === undefined) throw missingAlias(name, others);
      await writeAliases(host, others);
    });
    return nothing(`Removed alias ${name}`);
  },
});
const aliasSetOver = (groups: readonly Group[]): Command =>
  defineCommand({
    path: ['alias', 'set'],
    noDryRun: 'opsctl alias list shows all aliases',
    summary: 'Store a command line under a short name',
    about:
      'The alias becomes the first word after opsctl. $1 to $9 in the line are replaced with the arguments of the call; other arguments follow at the end. An alias cannot replace a command. Its line must start with a command that exists, with flags that the command has. TAB completes an alias as it completes its line.',
    args: [
      aliasArgument,
      {
        name: 'line',
        effects: [],
        field: str(4096, { min: 1 }),
        summary: 'Command line without opsctl, in quotes',
      },
    ],
    examples: [
      {
        line: "opsctl alias set mine 'tracker stories list --owner @me'",
        says: 'Afterwards opsctl mine lists your stories',
      },
      {
        line: "opsctl alias set done 'tracker stories move $1 Completed'",
        says: 'Use an argument of the call',
      },
    ],
    run: async ({ host }, { alias: name, line }) => {
      if (name === 'help' || groups.some((group) => group.name === name))
        throw invalidArguments([problem('<alias>', 'rule', `must not be a command; ${name} is one`)]);
      await assertRuns(groups, line.replace(/^opsctl\s+/, ''));
      await withConfigLock(host, async () =>
        writeAliases(host, { ...(await readAliases(host)), [name]: line.replace(/^opsctl\s+/, '') }),
      );
      return recordResult({ name, line, file: aliasFile(host) }, { message: `Stored alias ${name}` });
    },
  });
/** The commands of aliases. Setting one checks that its line starts with one of these groups. */
export const aliasCommandsOver = (groups: readonly Group[]): readonly Command[] => [
  aliasSetOver(groups),
  aliasListOver(groups),
  aliasUnset,
];

const doctorFlags = {
  bundle: {
    effects: ['writes'],
    field: str(4096, { min: 1 }),
    summary: 'Write a support archive (.tar.gz) without secrets',
    value: 'file',
    complete: 'file',
  },
} as const satisfies Flags;
/** The checks as `kv check` shows findings: the worst last, and each remedy on its own line. */
const checksResult = async (
  { host, isFormatGiven, format }: Context,
  rows: readonly Finding[],
  message?: string,
): Promise<Result> => {
  const failed = rows.some(({ state }) => state === 'fail');
  const view = { columns: ['check', 'state', 'found', 'remedy'], name: 'check', message };
  const { findingsText } = await import('../kv/upgrade/present/text.ts');
  const findings = rows.map(({ check, state, found, remedy }) => ({
    guard: check,
    level: state,
    message: found,
    ...(remedy === undefined || remedy === '' ? {} : { hint: remedy }),
  }));
  const isText = !isFormatGiven || formatRow(format).isForPeople === true;
  const text = isText ? findingsText(findings, host.terminal.stdout.columns || 80) : undefined;
  return recordResult(rows, text === undefined ? view : { ...view, text }, failed ? 'no' : undefined);
};
const saveBundle = async (context: Context, file: string): Promise<Result> => {
  const { generalFindings, signInFindings, writeBundle } = await import('../support/doctor.ts');
  return writeBundle(context, file, {
    doctor: () => generalFindings(context),
    'doctor-auth': () => signInFindings(context, {}),
  });
};
export const doctor = defineCommand({
  path: ['doctor'],
  summary: 'Diagnose the configuration of this machine',
  about:
    'Checks directories, settings, proxies and whether each configured service responds. Exits with code 20 if a check fails. `opsctl doctor auth` checks sign-in. --bundle writes the results of both commands, the versions, the origin of each setting and the last crash report into one archive.',
  flags: doctorFlags,
  examples: [
    { line: 'opsctl doctor', says: 'Run every check and print fixes' },
    { line: 'opsctl doctor --bundle report.tar.gz', says: 'Create one file for a bug report' },
  ],
  run: async (context, { bundle }) => {
    if (bundle !== undefined) return saveBundle(context, bundle);
    const { generalFindings } = await import('../support/doctor.ts');
    return checksResult(context, await generalFindings(context));
  },
});

const authFlags = {
  ...serverFlags,
  scope: {
    effects: [],
    field: listOf(str()),
    repeat: true,
    value: 'scope',
    summary: 'Scope that the client may request',
  },
  port: { field: int({ min: 1, max: 65535 }), value: 'port', summary: 'Port that login will use' },
  'redirect-path': {
    effects: [],
    field: str(200),
    value: 'path',
    summary: 'Path of the registered redirect URI',
  },
} as const satisfies Flags;
type SignInGiven = ValuesOf<typeof authFlags>;
const diagnoseSignIn = async (context: Context, values: SignInGiven): Promise<Result> => {
  const { signInFindings } = await import('../support/doctor.ts');
  const rows = await signInFindings(context, values);
  const failed = rows.filter(({ state }) => state === 'fail').length;
  const message =
    failed === 0 ? 'sign-in should work on this machine' : `${failed} of ${rows.length} checks failed`;
  return checksResult(context, rows, message);
};
export const doctorAuth = defineCommand({
  path: ['doctor', 'auth'],
  summary: 'Diagnose sign-in problems',
  about:
    'Checks ports, browser, keychain, stored credentials, clock, proxy, certificates and whether the server accepts the redirect URI, and prints a fix for each failure. Requires no sign-in. Exits with code 20 if a check fails.',
  flags: authFlags,
  examples: [{ line: 'opsctl doctor auth', says: 'Run every sign-in check and print fixes' }],
  run: diagnoseSignIn,
});

export const doctorCommands: readonly Command[] = [doctor, doctorAuth];
