import type { sourceFormats } from './access.ts';
import {
  FILE_VARIABLE,
  fileSections,
  findServerFile,
  settingNames,
} from '../../../api-specs/etcd/server-settings.ts';
import { AppError } from '../../../core/problem.ts';
import { wordsOf } from '../../../core/shell.ts';
import {
  type Origin,
  type RepeatedKey,
  type ServerStart,
  type SourceReader,
  isShell,
  keyOrigins,
  originsIn,
  parseConfig,
  repeatText,
  serverWords,
  splitDocuments,
} from './configuration.ts';
import {
  continuedValues,
  environmentNotes,
  insertByShell,
  insertInPod,
  insertText,
  isEnvironment,
  isScript,
  readEnvironment,
  setsServer,
  shellVariables,
  withoutLiterals,
} from './variables.ts';
import { normalizeKeys, parseWords } from './values.ts';

type Line = {
  readonly section: string;
  readonly key: string;
  readonly value: string;
  readonly path: string;
  readonly line: number;
};
/** Lines `Key=Value` of a unit, with continued lines joined. Comments between continued lines are skipped, as systemd skips them. */
const unitLines = (text: string, path: string): Line[] => {
  const found: Line[] = [];
  let section = '';
  let open: { key: string; value: string; line: number } | undefined;
  const close = (): void => {
    if (open !== undefined) found.push({ section, path, ...open, value: open.value.trim() });
    open = undefined;
  };
  text.split(/\r?\n/).forEach((line, i) => {
    if (/^\s*[#;]/.test(line)) return;
    const isContinued = line.endsWith('\\');
    const body = isContinued ? line.slice(0, -1) : line;
    if (open !== undefined) open.value += ` ${body.trim()}`;
    else {
      const header = /^\s*\[([^\]]+)\]\s*$/.exec(body);
      const pair = /^\s*([A-Za-z]+)\s*=(.*)$/.exec(body);
      if (header !== null) section = header[1] as string;
      else if (pair !== null)
        open = { key: pair[1] as string, value: (pair[2] as string).trim(), line: i + 1 };
    }
    if (!isContinued) close();
  });
  close();
  return found;
};
const unitDirectories = [
  '/usr/lib/systemd/system',
  '/lib/systemd/system',
  '/run/systemd/system',
  '/etc/systemd/system',
];
/** Drop-ins in the order in which systemd applies them: by file name, regardless of the directory. */
const readDropIns = async (path: string, reader: SourceReader): Promise<Line[]> => {
  const [directory, name] = [path.slice(0, path.lastIndexOf('/')), path.slice(path.lastIndexOf('/') + 1)];
  const directories = unitDirectories.includes(directory)
    ? unitDirectories.map((one) => `${one}/${name}.d`)
    : [`${path}.d`];
  const files = new Map<string, string>();
  for (const one of directories)
    for (const file of await reader.list(one)) if (file.endsWith('.conf')) files.set(file, `${one}/${file}`);
  const lines: Line[] = [];
  for (const [, full] of [...files].toSorted(([a], [b]) => (a < b ? -1 : 1)))
    lines.push(...unitLines((await reader.read(full)) ?? '', full));
  return lines;
};
/** The assignments that take effect: an empty assignment removes all earlier assignments. */
const effective = (lines: readonly Line[], key: string): Line[] => {
  const found = lines.filter((line) => line.key === key);
  return found.slice(found.findLastIndex(({ value }) => value === '') + 1);
};
type Environment = { env: Record<string, string>; origins: Map<string, Origin>; unread: string[] };
const addAssignments = ({ env, origins }: Environment, { value, path, line }: Line): void => {
  for (const word of wordsOf(value) ?? []) {
    const pair = /^([A-Za-z_]\w*)=([\s\S]*)$/.exec(word);
    if (pair === null) continue;
    env[pair[1] as string] = pair[2] as string;
    origins.set(pair[1] as string, { path, line });
  }
};
/** Returns the variables of `Environment=` and then of `EnvironmentFile=`, which overrides them. */
const readVariables = async (lines: readonly Line[], reader: SourceReader): Promise<Environment> => {
  const found: Environment = { env: {}, origins: new Map(), unread: [] };
  for (const line of effective(lines, 'Environment')) addAssignments(found, line);
  for (const { value, section } of effective(lines, 'EnvironmentFile')) {
    const path = value.replace(/^-/, '');
    const text = path.includes('%') ? undefined : await reader.read(path);
    if (text === undefined) {
      found.unread.push(`EnvironmentFile ${path}${value.startsWith('-') ? ' (optional)' : ''}`);
      continue;
    }
    // Podman reads the file of a section [Container].
    const read = readEnvironment(text, path, section === 'Container' ? 'container' : 'systemd');
    Object.assign(found.env, read.env);
    for (const [key, origin] of read.origins) found.origins.set(key, origin);
  }
  return found;
};
/**
 * Expands the arguments of a systemd command line: `$NAME` becomes the words of its value, `${NAME}` a part
 * of its word.
 */
const expandWords = (line: string, env: Readonly<Record<string, string>>, unread: string[]): string[] =>
  (wordsOf(line) ?? []).flatMap((word) => {
    const whole = /^\$([A-Za-z_]\w*)$/.exec(word)?.[1];
    if (whole !== undefined) {
      if (env[whole] === undefined) unread.push(`variable ${whole}`);
      return wordsOf(env[whole] ?? '') ?? [];
    }
    return [
      word.replace(/\$\{([A-Za-z_]\w*)\}/g, (text, name: string) => {
        if (env[name] === undefined) unread.push(`variable ${name}`);
        return env[name] ?? text;
      }),
    ];
  });
const repeatNotes = (repeats: readonly RepeatedKey[] = []) =>
  repeats.map((one) => ({ key: one.key, ...repeatText(one) }));
/** A container has a separate file system, so the file of this path on the host is another one. */
const runsContainer = (words: readonly string[]): boolean =>
  words.some((word) => /^(docker|podman|nerdctl|ctr|crictl)$/.test(word.split('/').at(-1) ?? ''));
/** Adds the configuration file that the server reads, or its path if it cannot be read here. */
const withConfigFile = async (
  start: ServerStart,
  reader: SourceReader,
  isContained: boolean,
): Promise<ServerStart> => {
  const { flags } = parseWords(start.words);
  const path = findServerFile(flags, start.env[FILE_VARIABLE], undefined);
  if (path === undefined) return start;
  const isOfVariable = findServerFile(flags, undefined, undefined) === undefined;
  const found: ServerStart = isOfVariable ? { ...start, isFileOfVariable: true } : start;
  // A relative path depends on the working directory of the server.
  const isHere = !isContained && path.startsWith('/');
  const text = isHere ? await reader.read(path) : undefined;
  const parsed = text === undefined ? undefined : await parseConfig(text);
  if (text === undefined || parsed === undefined || !('file' in parsed))
    return { ...found, unreadFile: path };
  const origins = new Map([...start.origins, ...keyOrigins(text, path)]);
  return { ...found, file: parsed.file, origins, fileNotes: repeatNotes(parsed.repeats) };
};
/** Positions of the flags of a line, including flags inside its variables. */
const flagOrigins = (
  content: string,
  { path, line }: Line,
  flags: readonly string[],
  { env, origins }: Environment,
): Map<string, Origin> => {
  const found = originsIn(content, path, flags, [], line);
  for (const name of flags.filter((one) => !found.has(`--${one}`)))
    for (const [variable, origin] of origins)
      if (env[variable]?.includes(name) === true) found.set(`--${name}`, origin);
  return found;
};
const variableNames = new Set(
  settingNames('flag').map((name) => `ETCD_${name.toUpperCase().replaceAll('-', '_')}`),
);
/** Variables that the command line only inserts: they are no settings. The server also reads a known name itself. */
const insertedOnly = (lines: readonly Line[]): string[] =>
  lines
    .filter(({ key }) => key.startsWith('Exec'))
    .flatMap(({ value }) => [...value.matchAll(/\$\{?([A-Za-z_]\w*)/g)].map(([, name = '']) => name))
    .filter((name) => !variableNames.has(name));
/** The server that a unit starts, with its drop-ins and its environment files. */
const readUnit = async (text: string, path: string, reader: SourceReader): Promise<ServerStart[]> => {
  const lines = [...unitLines(text, path), ...(await readDropIns(path, reader))].filter(
    ({ section }) => section === 'Service' || section === 'Container',
  );
  const environment = await readVariables(lines, reader);
  const { env, origins, unread } = environment;
  const starts: ServerStart[] = [];
  for (const line of [...effective(lines, 'ExecStart'), ...effective(lines, 'Exec')]) {
    const expanded = expandWords(line.value.replace(/^[@:+!-]+/, ''), env, unread);
    const words = expanded[0]?.startsWith('-') === true ? expanded : serverWords(expanded);
    if (words === undefined) continue;
    const content = line.path === path ? text : ((await reader.read(line.path)) ?? '');
    const found = flagOrigins(content, line, [...parseWords(words).flags.keys()], environment);
    const start = { name: '', words, env, origins: new Map([...origins, ...found]), unread };
    starts.push(await withConfigFile(start, reader, line.section === 'Container' || runsContainer(expanded)));
  }
  for (const name of insertedOnly(lines)) delete env[name];
  const isSet = Object.keys(env).some((name) => name.startsWith('ETCD_'));
  return starts.length === 0 && isSet ? [{ name: '', words: [], env, origins, unread }] : starts;
};

export type SourceFormat = (typeof sourceFormats)[number];
export type Source = { readonly format: SourceFormat; readonly starts: readonly ServerStart[] };
/** Returns the variables that a container runtime receives with `-e` or `--env`. */
const runtimeVariables = (words: readonly string[]): Record<string, string> => {
  const found: Record<string, string> = {};
  words.forEach((word, i) => {
    const text =
      /^--env=([\s\S]*)$/.exec(word)?.[1] ?? (word === '-e' || word === '--env' ? words[i + 1] : undefined);
    const pair = /^(\w+)=([\s\S]*)$/.exec(text ?? '');
    if (pair !== null) found[pair[1] as string] = pair[2] as string;
  });
  return found;
};
const readEnvironmentFile = (text: string, path: string): Source => {
  const { env, origins, comments } = readEnvironment(text, path);
  const notes = environmentNotes(text, comments);
  return { format: 'env', starts: [{ name: '', words: [], env, origins, unread: [], notes }] };
};

type Mapping = Readonly<Record<string, unknown>>;
const isMapping = (value: unknown): value is Mapping =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const textsOf = (value: unknown): string[] =>
  Array.isArray(value) ? value.map(String) : typeof value === 'string' ? (wordsOf(value) ?? []) : [];
/** The command and the variables of one container. Undefined if no part of it belongs to a server. */
const containerStart = (
  text: string,
  path: string,
  given: {
    name: string;
    words: readonly string[];
    env: Record<string, string>;
    unread: readonly string[];
    line: number;
  },
): ServerStart | undefined => {
  const isFlagsOnly = given.words[0]?.startsWith('-') === true;
  const words = isFlagsOnly ? given.words : (serverWords(given.words) ?? []);
  const variables = Object.keys(given.env).filter((name) => name.startsWith('ETCD_'));
  if (words.length === 0 && variables.length === 0) return undefined;
  const origins = originsIn(text, path, parseWords(words).flags.keys(), variables, given.line);
  if (!given.words.some(isShell))
    return { name: given.name, words, env: given.env, origins, unread: given.unread };
  const known = insertByShell(words, given.env, given.words.join('\n'));
  const unread = [...new Set([...given.unread, ...shellVariables(known)])];
  return { name: given.name, words: known, env: given.env, origins, unread };
};
/** Returns the containers of a Pod, of the template of a workload, or of a list of workloads. */
const listContainers = (value: unknown): Mapping[] => {
  if (!isMapping(value)) return [];
  if (Array.isArray(value['items'])) return value['items'].flatMap(listContainers);
  const spec = value['spec'];
  if (!isMapping(spec)) return [];
  const jobs = isMapping(spec['jobTemplate']) ? listContainers(spec['jobTemplate']) : [];
  if (isMapping(spec['template'])) return [...jobs, ...listContainers(spec['template'])];
  return [...jobs, ...(Array.isArray(spec['containers']) ? spec['containers'].filter(isMapping) : [])];
};
const podVariables = (container: Mapping): { env: Record<string, string>; unread: string[] } => {
  const given = Array.isArray(container['env']) ? container['env'].filter(isMapping) : [];
  const env: Record<string, string> = {};
  for (const one of given)
    if (one['value'] !== undefined) env[String(one['name'])] = insertInPod(String(one['value']), env);
  const sources = [
    ...given.filter((one) => one['valueFrom'] !== undefined).map((one) => `variable ${String(one['name'])}`),
    ...(Array.isArray(container['envFrom']) && container['envFrom'].length > 0 ? ['envFrom'] : []),
  ];
  return { env, unread: sources };
};
const readPods = (documents: readonly unknown[], text: string, path: string): ServerStart[] =>
  documents.flatMap(listContainers).flatMap((container) => {
    const name = String(container['name'] ?? '');
    const { env, unread } = podVariables(container);
    const words = [...textsOf(container['command']), ...textsOf(container['args'])].map((word) =>
      insertInPod(word, env),
    );
    const start = containerStart(text, path, { name, words, env, unread, line: 1 });
    return start === undefined ? [] : [start];
  });

/** The variables of a service. A name without a value comes from `.env`, or from the shell that starts compose: then it is unknown. */
const composeVariables = (
  value: unknown,
  inserted: Readonly<Record<string, string>>,
): { own: Record<string, string>; passed: string[] } => {
  const rows: (readonly [string, string | undefined])[] = isMapping(value)
    ? Object.entries(value).map(([name, one]) => [name, one === null ? inserted[name] : String(one)])
    : textsOf(value).map((one) => {
        const pair = /^(\w+)=([\s\S]*)$/.exec(one);
        return pair === null ? [one, inserted[one]] : [pair[1] as string, pair[2]];
      });
  return {
    own: Object.fromEntries(rows.filter(([, one]) => one !== undefined)) as Record<string, string>,
    passed: rows.filter(([name, one]) => one === undefined && name.startsWith('ETCD_')).map(([name]) => name),
  };
};
/** Inserts the variables of the file `.env` next to the compose file. A variable without a value stays and is listed as unread. */
const insertVariables = (
  value: unknown,
  env: Readonly<Record<string, string>>,
  unread: Set<string>,
): unknown => {
  if (Array.isArray(value)) return value.map((one) => insertVariables(one, env, unread));
  if (isMapping(value))
    return Object.fromEntries(
      Object.entries(value).map(([key, one]) => [key, insertVariables(one, env, unread)]),
    );
  return typeof value === 'string' ? insertText(value, { env, unread }) : value;
};
const directoryOf = (path: string): string => path.slice(0, Math.max(1, path.lastIndexOf('/')));
const envFiles = (value: unknown): string[] =>
  (Array.isArray(value) ? value : value === undefined ? [] : [value]).map((one) =>
    isMapping(one) ? String(one['path']) : String(one),
  );
const readEnvFiles = async (value: unknown, path: string, reader: SourceReader) => {
  const [env, unread, origins]: [Record<string, string>, string[], Map<string, Origin>] = [{}, [], new Map()];
  for (const file of envFiles(value)) {
    const full = file.startsWith('/') ? file : `${directoryOf(path)}/${file}`;
    const content = await reader.read(full);
    if (content === undefined) unread.push(full);
    else {
      const read = readEnvironment(content, full, 'container');
      if (read.isOpen) unread.push(`${full} (a quote is not closed)`);
      Object.assign(env, read.env);
      for (const [key, origin] of read.origins) origins.set(key, origin);
    }
  }
  return { env, unread, origins };
};
const readService = async (
  [name, given]: readonly [string, Mapping],
  text: string,
  path: string,
  reader: SourceReader,
  inserted: Readonly<Record<string, string>>,
): Promise<ServerStart[]> => {
  const missing = new Set<string>();
  const service = Object.fromEntries(
    ['env_file', 'environment', 'entrypoint', 'command'].map((key) => [
      key,
      insertVariables(given[key], inserted, missing),
    ]),
  );
  const { env, unread: unreadFiles, origins } = await readEnvFiles(service['env_file'], path, reader);
  const { own, passed } = composeVariables(service['environment'], inserted);
  const unread = [...unreadFiles, ...missing, ...passed.map((one) => `variable ${one}`)];
  const words = [...textsOf(service['entrypoint']), ...textsOf(service['command'])];
  const key = `${name}:`;
  const at = text.split('\n').findIndex((one) => /^\s/.test(one) && one.trimStart().startsWith(key));
  const line = Math.max(1, at + 1);
  const start = containerStart(text, path, { name, words, env: { ...env, ...own }, unread, line });
  const others = [...origins].filter(([key]) => own[key] === undefined);
  return start === undefined ? [] : [{ ...start, origins: new Map([...start.origins, ...others]) }];
};
const readCompose = async (
  services: unknown,
  text: string,
  path: string,
  reader: SourceReader,
): Promise<ServerStart[]> => {
  const starts: ServerStart[] = [];
  const project = await reader.read(`${directoryOf(path)}/.env`);
  const inserted = project === undefined ? {} : readEnvironment(project, '.env', 'container').env;
  for (const [name, service] of Object.entries(isMapping(services) ? services : {}))
    if (isMapping(service))
      starts.push(...(await readService([name, service], text, path, reader, inserted)));
  return starts;
};

const knownKeys = new Set([...settingNames('file'), ...settingNames('flag'), ...Object.keys(fileSections)]);
const notServer = (path: string): AppError =>
  new AppError('config', `cannot use ${path}: it contains no server setting`, {
    code: 'NO_SERVER_SETTINGS',
    tryThis: [
      'use a configuration file, an environment file, a systemd unit, a pod manifest, a compose file or a file with the command line',
      'choose the format if opsctl identified another one: --format config|env|unit|pod|compose|command',
    ],
  });
const sourceError = (path: string, why: string): AppError =>
  new AppError('no', `no version can read ${path}: ${why}`, { code: 'CONFIG_BROKEN' });

const readCommand = (text: string, path: string): Source | undefined => {
  const joined = text.replace(/\\\r?\n/g, ' ');
  const starts = joined
    .split('\n')
    .filter((line) => !/^\s*#/.test(line))
    .flatMap((line): ServerStart[] => {
      const all = wordsOf(line.replace(/\s#.*$/, '')) ?? [];
      const words = serverWords(all);
      if (words === undefined || words.length < 2) return [];
      const env = runtimeVariables(all);
      const origins = originsIn(text, path, parseWords(words).flags.keys(), Object.keys(env));
      const inserted = new Set(shellVariables([withoutLiterals(line)]));
      const unread = shellVariables(words).filter((name) => inserted.has(name));
      return [{ name: '', words, env, origins, unread }];
    });
  return starts.length === 0 ? undefined : { format: 'command', starts };
};
/** A script sets variables that only its shell knows, so they are listed as unread. */
const readScript = (text: string, path: string): Source => {
  const command = readCommand(text, path);
  const variables = [...text.matchAll(/^\s*(?:export\s+)?(ETCD_[A-Z0-9_]+)=/gm)].map(([, name = '']) => name);
  const files = [...text.matchAll(/^\s*(?:\.|source)\s+(\S+)/gm)].map(([, file = '']) => file);
  if (command === undefined)
    throw new AppError('config', `cannot use ${path}: it is a script, and opsctl does not run it`, {
      code: 'NO_SERVER_SETTINGS',
      tryThis: [
        'check the environment file or the configuration file that the script uses',
        'check the running members, whose command lines and variables opsctl reads: opsctl kv check --cluster FILE',
      ],
    });
  const unread = [...new Set([...variables.map((name) => `variable ${name}`), ...files])];
  return {
    ...command,
    starts: command.starts.map((start) => ({ ...start, unread: [...new Set([...start.unread, ...unread])] })),
  };
};
const isManifest = (file: Mapping): boolean =>
  typeof file['kind'] === 'string' && file['apiVersion'] !== undefined;
/** Returns all valid documents of a text. */
const listDocuments = async (text: string): Promise<unknown[]> => {
  const documents: unknown[] = [];
  for (let left = text; left !== ''; ) {
    const [first, rest] = splitDocuments(left);
    const parsed = await parseConfig(first);
    if ('file' in parsed) documents.push(parsed.file);
    left = rest.replace(/^(---|\.\.\.)[^\n]*\n?/, '');
  }
  return documents;
};
const readValues = async (
  text: string,
  path: string,
  reader: SourceReader,
  format: SourceFormat | undefined,
): Promise<Source> => {
  const parsed = await parseConfig(text);
  if ('broken' in parsed) {
    const command = format === undefined ? readCommand(text, path) : undefined;
    if (command !== undefined) return command;
    if (format === undefined && setsServer(text)) return readEnvironmentFile(text, path);
    throw sourceError(path, parsed.broken);
  }
  const { file } = parsed;
  const is = (one: SourceFormat, looks: boolean): boolean =>
    format === one || (format === undefined && looks);
  if (is('compose', isMapping(file['services'])))
    return { format: 'compose', starts: await readCompose(file['services'], text, path, reader) };
  if (is('pod', isManifest(file)))
    return { format: 'pod', starts: readPods(await listDocuments(text), text, path) };
  const hasKnown = Object.keys(normalizeKeys(file)).some((key) => knownKeys.has(key));
  const notes = repeatNotes(parsed.repeats);
  const start = { name: '', words: [], env: {}, file, origins: keyOrigins(text, path), unread: [], notes };
  return { format: 'config', starts: hasKnown ? [start] : [] };
};
/** A command as a list of words. Undefined if the text is no such list. */
const readList = async (text: string, path: string): Promise<Source | undefined> => {
  const list = /^\s*\[/.test(text) ? await listWords(text) : undefined;
  if (list === undefined) return undefined;
  const words = serverWords(list) ?? [];
  const origins = originsIn(text, path, parseWords(words).flags.keys(), []);
  return {
    format: 'command',
    starts: words.length === 0 ? [] : [{ name: '', words, env: {}, origins, unread: [] }],
  };
};
const readFormat = async (
  text: string,
  path: string,
  reader: SourceReader,
  format: SourceFormat | undefined,
): Promise<Source> => {
  const is = (one: SourceFormat, looks: boolean): boolean =>
    format === one || (format === undefined && looks);
  if (is('unit', /^\s*\[(Unit|Service|Install|Container)\]\s*$/m.test(text)))
    return { format: 'unit', starts: await readUnit(text, path, reader) };
  // A command may begin with assignments and continue on further lines.
  const hasCommand = (): boolean =>
    continuedValues(text).some((value) => serverWords(wordsOf(value) ?? []) !== undefined);
  if (is('env', isEnvironment(text) && !hasCommand())) return readEnvironmentFile(text, path);
  if (format === undefined && isScript(text)) return readScript(text, path);
  const list = is('command', true) ? await readList(text, path) : undefined;
  if (list !== undefined) return list;
  if (format === 'command') return readCommand(text, path) ?? { format, starts: [] };
  return readValues(text, path, reader, format);
};
const listWords = async (text: string): Promise<string[] | undefined> => {
  const { parseDocument } = await import('../../../platform/yaml.ts');
  const value: unknown = parseDocument(text).toJS();
  return Array.isArray(value) ? value.map(String) : undefined;
};

/** The servers that a file starts or configures. Throws if the file contains no setting of a server. */
export const readSource = async (
  text: string,
  path: string,
  reader: SourceReader,
  format?: SourceFormat,
): Promise<Source> => {
  const found = await readFormat(text, path, reader, format);
  const isContained =
    found.format === 'pod' ||
    found.format === 'compose' ||
    (found.format === 'command' && runsContainer(text.split(/\s+/)));
  const source = {
    ...found,
    starts: await Promise.all(
      found.starts.map((start) =>
        start.file === undefined && start.unreadFile === undefined
          ? withConfigFile(start, reader, isContained)
          : start,
      ),
    ),
  };
  const isKnown = ({ file, words, env }: ServerStart): boolean =>
    file !== undefined || words.length > 0 || Object.keys(env).some((name) => name.startsWith('ETCD_'));
  if (!source.starts.some(isKnown)) throw notServer(path);
  return source;
};
