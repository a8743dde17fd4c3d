import { hash } from 'node:crypto';
import { resolve, basename, dirname, isAbsolute, join } from 'node:path';
import { bool, list, str, oneOf, req } from '../core/field.ts';
import { invalidArguments, problem, usageError, AppError } from '../core/problem.ts';
import { next } from '../core/next.ts';
import { nothing, type Result, rawResult, recordResult, rowsResult } from '../core/result.ts';
import {
  extensionFile,
  extensionName,
  listExtensions,
  readAliases,
  readInstalled,
  writeInstalled,
} from '../cli/aliases.ts';
import { defineCommand, type Command, type Group } from '../cli/command.ts';
import { assertTrusted } from '../platform/trust.ts';
import type { Context } from '../api/context.ts';
import type { Flags, ValuesOf } from '../core/flag.ts';
import { endpointFlags } from './kv/flags.ts';
import { homeOf } from '../config/settings.ts';
import { withConfigLock } from '../config/store.ts';
import type { Host } from '../platform/host.ts';

type Groups = readonly { readonly name: string; readonly load: () => Promise<readonly Command[]> }[];

const flags = {
  'allow-write': {
    field: bool(),
    summary:
      'Also offer commands that make changes; each call returns a preview first and requires its approval token',
  },
  group: {
    effects: [],
    field: list(str(50)),
    repeat: true,
    summary: 'Groups or prefixes of tool names, such as tracker,kv_member; all offers every tool',
    value: 'name',
  },
  files: {
    effects: ['reads'],
    field: list(str(4096, { min: 1 })),
    repeat: true,
    summary: 'Tools may read the files below this directory, and no other files',
    value: 'directory',
    complete: 'file',
  },
  set: {
    effects: ['reads', 'writes', 'runs', 'sends'],
    field: list(str(4096, { min: 1 })),
    repeat: true,
    summary: 'Fix an argument of one tool, such as kv_plan.out=plan.json; no call can replace it',
    value: 'tool.name=value',
  },
  ...endpointFlags,
} as const satisfies Flags;
type Given = ValuesOf<typeof flags>;

const sharedFlags = Object.keys(endpointFlags) as (keyof typeof endpointFlags)[];

/** `kv_plan.out=plan.json` → kv_plan → out → plan.json. */
const fixedValues = (texts: readonly string[]): Record<string, Record<string, string>> => {
  const found = new Map<string, Record<string, string>>();
  for (const text of texts) {
    const [, tool, name, value] = /^([^.=]+)\.([^=]+)=(.*)$/s.exec(text) ?? [];
    if (tool === undefined || name === undefined || value === undefined)
      throw usageError(`invalid --set ${JSON.stringify(text)}: must be TOOL.NAME=VALUE`);
    found.set(tool, { ...found.get(tool), [name]: value });
  }
  return Object.fromEntries(found);
};

const directoryOf = async ({ host }: Context, given: string): Promise<string> => {
  const path = await host.files.realPath(resolve(host.cwd, given));
  if (path !== undefined && (await host.files.info(path))?.kind === 'directory') return path;
  throw invalidArguments([problem('--files', 'rule', `names ${given}, which is not a directory`)]);
};

const serve = async (context: Context, values: Given, groups: Groups): Promise<Result> => {
  const { serveTools } = await import('../cli/mcp/call.ts');
  const commands = (await Promise.all(groups.map((group) => group.load()))).flat();
  const directories = await Promise.all((values.files ?? []).map((path) => directoryOf(context, path)));
  const forAll = sharedFlags.flatMap((name) =>
    values[name] === undefined ? [] : [[name, values[name] as string] as const],
  );
  await serveTools(context, commands, {
    mayWrite: values['allow-write'] ?? false,
    groups: (values.group ?? []).flatMap((text) => text.split(',')),
    mayReadFiles: directories.length > 0,
    forAll: Object.fromEntries(forAll),
    forTools: fixedValues(values.set ?? []),
    directories,
    sharedFlags,
  });
  return nothing();
};

const about = [
  'Without --allow-write, the server offers only read-only tools. No tool has an argument that writes a file, runs a program, or chooses a URL or a secret. The person who starts the server sets such values: --cluster and the other flags below for all tools, --set for one tool, and --files for directories that tools may read.',
  '',
  'With --allow-write, a call that changes something returns its dry run and an approval token. The same call with the token applies the change if the dry run and the files are still the same. The change uses a private copy of the files that the dry run read.',
  '',
  'Without --group, the server offers the 40 most useful tools, because some clients reject long lists. Results contain no secrets.',
  '',
  'Configuration for Claude Desktop, Claude Code (.mcp.json) and Cursor (.cursor/mcp.json):',
  '',
  '  {"mcpServers": {"opsctl": {"command": "opsctl", "args": ["mcp"]}}}',
  '',
  'Configuration for VS Code (.vscode/mcp.json):',
  '',
  '  {"servers": {"opsctl": {"type": "stdio", "command": "opsctl", "args": ["mcp"]}}}',
].join('\n');

/** The server over these groups: each of their commands is a tool. */
export const commandsOver = (groups: Groups): readonly Command[] => [
  defineCommand({
    path: ['mcp'],
    summary: 'Serve the commands as tools of the Model Context Protocol, on standard input and output',
    about,
    flags,
    noDryRun: 'opsctl mcp offers only read-only tools unless --allow-write is given',
    examples: [
      { line: 'opsctl mcp', says: 'Offer read-only tools' },
      {
        line: 'opsctl mcp --group all --cluster cluster.yaml',
        says: 'Offer all read-only tools for one cluster',
      },
      {
        line: 'opsctl mcp --allow-write --group tracker',
        says: 'Offer the tracker, with approval of each change',
      },
    ],
    run: (context, values) => serve(context, values, groups),
  }),
];

export type Shell = 'bash' | 'zsh' | 'fish' | 'powershell';
const scripts: Readonly<Record<Shell, () => Promise<string>>> = {
  bash: async () => (await import('../reference/completion.ts')).bashScript(),
  zsh: async () => (await import('../reference/completion.ts')).zshScript(),
  fish: async () => (await import('../reference/completion.ts')).fishScript(),
  powershell: async () => (await import('../reference/completion.ts')).powershellScript(),
};
export const scriptOf = (shell: Shell): Promise<string> => scripts[shell]();

const shells = oneOf('bash', 'zsh', 'fish', 'powershell');
const print = defineCommand({
  path: ['completion'],
  summary: 'Print the completion script of a shell',
  about:
    '`opsctl completion install` installs the script in the directory that your shell searches. To try completion first, load the script into the current shell.',
  args: [{ name: 'shell', field: req(shells), summary: 'Shell: bash, zsh, fish or powershell' }],
  examples: [
    {
      line: 'source <(opsctl completion bash)',
      says: 'Enable completion in the current bash or zsh session',
    },
    { line: 'opsctl completion install', says: 'Install completion permanently for the shell in $SHELL' },
  ],
  run: async (_context, { shell }) => rawResult(await scriptOf(shell)),
});
const install = defineCommand({
  path: ['completion', 'install'],
  noDryRun: 'opsctl completion bash prints the script',
  summary: 'Install the completion script for a shell',
  args: [
    {
      name: 'shell',
      field: shells,
      summary: 'Shell: bash, zsh, fish or powershell (default: the shell in $SHELL)',
      optional: true,
    },
  ],
  examples: [
    { line: 'opsctl completion install fish', says: 'Install completion for fish, regardless of $SHELL' },
  ],
  run: async ({ host, log }, { shell }) => {
    const { path, next } = await installScript(host, shell);
    for (const line of next) log.info(line);
    return nothing(`installed completion in ${path}`);
  },
});
export const completionCommands: readonly Command[] = [print, install];

type Env = Host['env'];
type Place = { readonly path: string; readonly next: readonly string[] };
/** XDG Base Directory Specification: a relative value is invalid and ignored. */
const absoluteOr = (given: string | undefined, otherwise: string): string =>
  given !== undefined && isAbsolute(given) ? given : otherwise;
const dataHome = (env: Env, home: string): string =>
  absoluteOr(env.XDG_DATA_HOME, join(home, '.local', 'share'));
const configHome = (env: Env, home: string): string => absoluteOr(env.XDG_CONFIG_HOME, join(home, '.config'));
/** The directory in which each shell searches for the completions of one user, and the additional setup. */
const places: Readonly<Record<Shell, (env: Env, home: string) => Place>> = {
  bash: (env, home) => {
    const own = absoluteOr(env.BASH_COMPLETION_USER_DIR, join(dataHome(env, home), 'bash-completion'));
    const path = join(own, 'completions', 'opsctl');
    return {
      path,
      next: [
        'new shells load it if the package bash-completion is installed; otherwise add this line to ~/.bashrc:',
        `  source ${path}`,
      ],
    };
  },
  zsh: (env, home) => {
    const directory = join(dataHome(env, home), 'zsh', 'site-functions');
    return {
      path: join(directory, '_opsctl'),
      next: [
        'add these lines to ~/.zshrc if they are missing:',
        `  fpath=(${directory} $fpath)`,
        '  autoload -U compinit && compinit',
      ],
    };
  },
  fish: (env, home) => ({
    path: join(configHome(env, home), 'fish', 'completions', 'opsctl.fish'),
    next: [],
  }),
  powershell: (env, home) => {
    const path = join(configHome(env, home), 'powershell', 'opsctl.ps1');
    return { path, next: ['add this line to the profile file ($PROFILE):', `  . ${path}`] };
  },
};
const shellOf = ({ env }: Host): Shell => {
  const name = basename(env.SHELL ?? '');
  if (name === 'bash' || name === 'zsh' || name === 'fish') return name;
  if (name === 'pwsh') return 'powershell';
  const why = name === '' ? '$SHELL is not set' : `$SHELL names a shell without completion: ${env.SHELL}`;
  throw new AppError('usage', `completion install: ${why}`, {
    tryThis: shells.enum.map((shell) => `opsctl completion install ${shell}`),
  });
};
/** Writes the script to the user's own directory of that shell; a script of an older version is replaced. */
export const installScript = async (host: Host, given: Shell | undefined): Promise<Place> => {
  const shell = given ?? shellOf(host);
  const place = places[shell](host.env, homeOf(host));
  await host.files.makeDirectory(dirname(place.path), 0o755);
  await host.files.replace(place.path, await scriptOf(shell), 0o644);
  return place;
};

const extensionArgument = {
  name: 'extension',
  effects: [],
  field: str(64, { pattern: `^${extensionName}$` }),
  summary: 'Name of the extension, without opsctl-',
  complete: 'extension',
} as const;
const extensionListOver = (groups: readonly Group[]): Command =>
  defineCommand({
    path: ['extension', 'list'],
    summary: 'List extensions and why a program does not run',
    about:
      'An extension is a program called opsctl-NAME. It runs as opsctl NAME with all arguments, and opsctl exits with its exit code. opsctl searches the installed extensions, then the directories of PATH. A command of opsctl is never replaced. TAB behind the name runs the program opsctl_complete-NAME on the PATH with the words of the line: it prints one candidate per line.',
    examples: [{ line: 'opsctl extension list', says: 'Print each extension with its state and path' }],
    run: async ({ host }) =>
      rowsResult(await listExtensions(host, groups), {
        columns: ['name', 'state', 'path', 'reason'],
        name: 'name',
        ifEmpty: next(['extension', 'install', '--help']),
      }),
  });
const fileRule = 'must be called opsctl-NAME, with letters, digits and dashes in NAME';
/** Copies the program and stores its checksum. */
const installExtension = async (
  { host, log }: Context,
  groups: readonly Group[],
  path: string,
  expected: string | undefined,
): Promise<Result> => {
  const [, name] = new RegExp(`^opsctl-(${extensionName})$`).exec(basename(path)) ?? [];
  if (name === undefined) throw invalidArguments([problem('<file>', 'rule', fileRule)]);
  if (name === 'help' || groups.some((group) => group.name === name))
    throw invalidArguments([problem('<file>', 'rule', `must not be a command; ${name} is one`)]);
  await assertTrusted(host, 'the program', path);
  const bytes = await host.files.readBytes(path);
  if (bytes === undefined) throw new AppError('not-found', `file not found: ${path}`, { code: 'NO_FILE' });
  const sha256 = hash('sha256', bytes);
  if (expected !== undefined && expected !== sha256)
    throw invalidArguments([
      problem('--sha256', 'rule', `is not the checksum of ${path}, which is ${sha256}`),
    ]);
  const file = extensionFile(host, name);
  await withConfigLock(host, async () => {
    const others = (await readInstalled(host)).filter((one) => one.name !== name);
    // An interruption before the list is written leaves a program that opsctl does not run, and the same command repairs it.
    await host.files.makeDirectory(dirname(file), 0o700);
    await host.files.replace(file, bytes, 0o700);
    await writeInstalled(host, [...others, { name, sha256, source: path }]);
  });
  // A damaged file of aliases does not prevent the installation, and its own error appears with the next call.
  const isHidden = Object.hasOwn(await readAliases(host).catch(() => ({})), name);
  if (isHidden)
    log.warn(`opsctl ${name} runs the alias ${name}, not the extension; run opsctl alias unset ${name}`);
  const how = isHidden ? '' : `; run opsctl ${name}`;
  return recordResult({ name, sha256, file }, { message: `Installed extension ${name}${how}` });
};
const extensionInstallOver = (groups: readonly Group[]): Command =>
  defineCommand({
    path: ['extension', 'install'],
    noDryRun: 'opsctl extension list shows all extensions',
    summary: 'Install a program as an extension, or replace it',
    about:
      'Copies the program and stores its checksum. opsctl compares the checksum before each run and refuses a program that changed (exit code 10). The same command with a new file replaces the extension.',
    args: [
      {
        name: 'file',
        effects: ['reads'],
        field: str(4096, { min: 1 }),
        summary: 'Program called opsctl-NAME',
        complete: 'file',
      },
    ],
    flags: {
      sha256: {
        effects: [],
        field: str(64, { pattern: '^[0-9a-f]{64}$' }),
        summary: 'Checksum that the program must have',
        value: 'checksum',
      },
    },
    examples: [
      {
        line: 'opsctl extension install ./opsctl-standup',
        says: 'Afterwards opsctl standup runs the program',
      },
    ],
    run: (context, { file, sha256 }) =>
      installExtension(context, groups, resolve(context.host.cwd, file), sha256),
  });
const extensionRemove = defineCommand({
  path: ['extension', 'remove'],
  noDryRun: 'opsctl extension list shows all extensions',
  summary: 'Remove an installed extension',
  args: [extensionArgument],
  examples: [{ line: 'opsctl extension remove standup', says: 'Remove the program and its checksum' }],
  run: async ({ host }, { extension: name }) => {
    await withConfigLock(host, async () => {
      const installed = await readInstalled(host);
      const others = installed.filter((one) => one.name !== name);
      const file = extensionFile(host, name);
      // An interrupted installation leaves a program that the list does not name.
      if (others.length === installed.length && (await host.files.info(file)) === undefined)
        throw new AppError('not-found', `extension not installed: ${JSON.stringify(name)}`, {
          code: 'NO_EXTENSION',
          tryThis: [next(['extension', 'list'])],
        });
      await writeInstalled(host, others);
      await host.files.remove(file);
    });
    return nothing(`Removed extension ${name}`);
  },
});
/** The commands of extensions. No extension replaces one of these groups. */
export const extensionCommandsOver = (groups: readonly Group[]): readonly Command[] => [
  extensionListOver(groups),
  extensionInstallOver(groups),
  extensionRemove,
];
