import { settingNames, variableOf } from '../../../api-specs/etcd/server-settings.ts';
import { wordsOf } from '../../../core/shell.ts';
import { type Origin, type SourceReader, originsIn } from './configuration.ts';
import {
  findServers,
  readFiles,
  type ReadStart,
  runsContainer,
  runWords,
  type ServerCommand,
  ASSIGNMENT,
} from './server-command.ts';
import { parseWords } from './values.ts';
import { readEnvironment } from './variables.ts';

type Line = {
  readonly section: string;
  readonly key: string;
  readonly value: string;
  readonly path: string;
  readonly line: number;
};
type OpenLine = { readonly section: string; readonly key: string; value: string; readonly line: number };
/** The assignment of a line, or the unit that an old one includes. */
const assignmentIn = (body: string, section: string, line: number): OpenLine | undefined => {
  const [, file] = /^\s*\.include\s+(\S+)/.exec(body) ?? [];
  if (file !== undefined) return { section: 'Service', key: '.include', value: file, line };
  const [, key, value] = /^\s*([A-Za-z]+)\s*=(.*)$/.exec(body) ?? [];
  return key === undefined ? undefined : { section, key, value: (value ?? '').trim(), line };
};
/** Lines `Key=Value` of a unit, with continued lines joined. Comments between continued lines are skipped, as systemd skips them. */
const unitLines = (text: string, path: string): Line[] => {
  const found: Line[] = [];
  let section = '';
  let open: OpenLine | undefined;
  text.split(/\r?\n/).forEach((line, i) => {
    if (/^\s*[#;]/.test(line)) return;
    const isContinued = line.endsWith('\\');
    const body = isContinued ? line.slice(0, -1) : line;
    if (open !== undefined) open.value += ` ${body.trim()}`;
    else {
      section = /^\s*\[([^\]]+)\]\s*$/.exec(body)?.[1] ?? section;
      open = assignmentIn(body, section, i + 1);
    }
    if (!isContinued && open !== undefined) found.push({ ...open, path, value: open.value.trim() });
    if (!isContinued) open = undefined;
  });
  if (open !== undefined) found.push({ ...(open as OpenLine), path, value: (open as OpenLine).value.trim() });
  return found;
};
/** Directories of units. A unit or a drop-in in a later one replaces the file of the same name in an earlier one. */
const unitDirectories = [
  '/usr/lib/systemd/system',
  '/lib/systemd/system',
  '/usr/local/lib/systemd/system',
  '/run/systemd/system',
  '/etc/systemd/system',
];
type UnitName = {
  readonly full: string;
  readonly prefix: string;
  readonly instance: string | undefined;
  readonly type: string;
};
const parseName = (full: string): UnitName => {
  const [, prefix = full, , instance, type = ''] = /^([^@]*?)(@(.*))?\.(\w+)$/.exec(full) ?? [];
  return { full, prefix, instance: instance === '' ? undefined : instance, type };
};
/** The path up to its last slash, so that a name can be appended. */
const directoryOf = (path: string): string => path.slice(0, Math.max(0, path.lastIndexOf('/')));
const directoriesFor = (path: string): readonly string[] =>
  unitDirectories.includes(directoryOf(path)) ? unitDirectories : [directoryOf(path)];
/** The names whose drop-ins belong to a unit, the most specific one last: `service`, `a-.service`, `a@.service`, `a@b.service`. */
const dropInNames = ({ full, prefix, instance, type }: UnitName): string[] => [
  type,
  ...[...prefix.matchAll(/-/g)].map(({ index }) => `${prefix.slice(0, index + 1)}.${type}`),
  ...(instance === undefined ? [] : [`${prefix}@.${type}`]),
  full,
];
/** Drop-ins in the order in which systemd applies them: by file name, regardless of the directory. */
const readDropIns = async (path: string, name: UnitName, reader: SourceReader): Promise<Line[]> => {
  const files = new Map<string, string>();
  for (const owner of dropInNames(name))
    for (const directory of directoriesFor(path))
      for (const file of await reader.list(`${directory}/${owner}.d`))
        if (file.endsWith('.conf')) files.set(file, `${directory}/${owner}.d/${file}`);
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

type Reading = {
  readonly lines: readonly Line[];
  readonly name: UnitName;
  readonly reader: SourceReader;
  readonly env: Record<string, string>;
  readonly origins: Map<string, Origin>;
  readonly unread: Set<string>;
};
/** Inserts the specifiers that follow from the name of the unit. Others depend on the host, so their values are unknown. */
const insertSpecifiers = (text: string, { name, unread }: Reading): string =>
  text.replace(/%(.)/g, (_, sign: string) => {
    const known: Readonly<Record<string, string | undefined>> = {
      '%': '%',
      n: name.full.includes('@.') ? undefined : name.full,
      N: name.full.includes('@.') ? undefined : name.full.replace(/\.\w+$/, ''),
      p: name.prefix,
      i: name.full.includes('@') ? name.instance : '',
      ...(name.instance?.includes('\\') === true || name.instance?.includes('-') === true
        ? {}
        : { I: name.full.includes('@') ? name.instance : '' }),
    };
    const value = known[sign];
    if (value !== undefined) return value;
    unread.add(`specifier %${sign}`);
    return `$(%${sign})`;
  });
/** Splits a value as systemd does. A value with an open quote has no effect, so it is listed as unread. */
const splitLine = ({ key, value, path, line }: Line, unread: Set<string>): string[] => {
  const words = wordsOf(
    value.replace(/\\x([0-9a-fA-F]{2})/g, (_, code: string) =>
      String.fromCharCode(Number.parseInt(code, 16)),
    ),
  );
  if (words === undefined) unread.add(`${key}= in ${path}:${line}, which has a quote that is not closed`);
  return words ?? [];
};
const addAssignments = (reading: Reading, given: Line, prefix = ''): void => {
  for (const word of splitLine(given, reading.unread)) {
    const pair = ASSIGNMENT.exec(word);
    if (pair?.[1]?.startsWith(prefix) !== true) continue;
    reading.env[pair[1] as string] = insertSpecifiers(pair[2] as string, reading);
    reading.origins.set(pair[1] as string, { path: given.path, line: given.line });
  }
};
const globPattern = (text: string): RegExp =>
  new RegExp(
    `^${text
      .replace(/[.+^${}()|[\]\\]/g, '\\$&')
      .replaceAll('*', '[^/]*')
      .replaceAll('?', '[^/]')}$`,
  );
/** Returns the files that a path with wildcards names. */
const listFiles = async (path: string, reader: SourceReader): Promise<string[]> => {
  if (!/[*?]/.test(path)) return [path];
  const directory = directoryOf(path);
  const pattern = globPattern(path.slice(directory.length + 1));
  const names = (await reader.list(directory)).filter((name) => pattern.test(name) && !name.startsWith('.'));
  return names.toSorted().map((name) => `${directory}/${name}`);
};
/** The path of an environment file. In a section [Container] it is relative to the file of the container. */
const environmentPath = ({ value, section, path }: Line, reading: Reading): string => {
  const named = insertSpecifiers(value.replace(/^-/, ''), reading);
  return section === 'Container' && !/^[/$]/.test(named)
    ? `${directoryOf(path)}/${named.replace(/^\.\//, '')}`
    : named;
};
const readEnvironmentLine = async (reading: Reading, line: Line): Promise<void> => {
  const { value, section } = line;
  const path = environmentPath(line, reading);
  const isUnknown = path.includes('$(%');
  const describeFile = (file: string): string =>
    `EnvironmentFile ${isUnknown ? value.replace(/^-/, '') : file}${value.startsWith('-') ? ' (optional)' : ''}`;
  const files = isUnknown ? [path] : await listFiles(path, reading.reader);
  if (files.length === 0) reading.unread.add(describeFile(path));
  for (const file of files) {
    const text = isUnknown ? undefined : await reading.reader.read(file);
    if (text === undefined) reading.unread.add(describeFile(file));
    // Podman reads the file of a section [Container].
    const read = readEnvironment(text ?? '', file, section === 'Container' ? 'container' : 'systemd');
    Object.assign(reading.env, read.env);
    for (const [key, origin] of read.origins) reading.origins.set(key, origin);
  }
};
/** The words of all assignments of a key, with their lines. */
const wordsIn = ({ lines, unread }: Reading, key: string): (readonly [word: string, line: Line])[] =>
  effective(lines, key).flatMap((line) => splitLine(line, unread).map((word) => [word, line] as const));
const removeVariables = (reading: Reading): void => {
  for (const [one] of wordsIn(reading, 'UnsetEnvironment')) {
    const [name = '', value] = one.split(/=(.*)/s);
    if (value === undefined || reading.env[name] === value) delete reading.env[name];
  }
};
/** Lists the variables whose values only the host knows. */
const listHostVariables = ({ lines }: Reading): string[] => [
  ...effective(lines, 'Secret').flatMap(({ value }) => (/type=env/.test(value) ? [`secret ${value}`] : [])),
  ...effective(lines, 'EnvironmentHost').flatMap(({ value }) =>
    /^(1|yes|true|on)$/i.test(value) ? ['variables of the host'] : [],
  ),
];
/** Directories of the manager's settings; a file in a later one replaces the file of the same name. */
const managerDirectories = ['/usr/lib/systemd', '/usr/local/lib/systemd', '/run/systemd', '/etc/systemd'];
/** The settings of the manager, and the files of it that could not be read. */
type Manager = { readonly lines: readonly Line[]; readonly unread: readonly string[] };
/**
 * The lines `DefaultEnvironment=` of the manager, which every service of the host receives. A unit outside of
 * the directories of the host, for example in a repository, belongs to no known host. The variables of the
 * program that runs a container do not reach the container.
 */
const readManager = async (path: string, reader: SourceReader): Promise<Manager> => {
  if (!unitDirectories.includes(directoryOf(path)) || path.endsWith('.container'))
    return { lines: [], unread: [] };
  const unread = new Set<string>();
  const tryTo = async <T>(at: string, look: () => Promise<T>): Promise<T | undefined> => {
    try {
      return await look();
    } catch {
      unread.add(`DefaultEnvironment in ${at}`);
      return undefined;
    }
  };
  const readText = (at: string) => tryTo(at, () => reader.read(at));
  const files = new Map<string, string>();
  let main: Line[] = [];
  for (const directory of managerDirectories) {
    const [file, dropIns] = [`${directory}/system.conf`, `${directory}/system.conf.d`];
    const text = await readText(file);
    if (text !== undefined) main = unitLines(text, file);
    for (const name of (await tryTo(dropIns, () => reader.list(dropIns))) ?? [])
      if (name.endsWith('.conf')) files.set(name, `${dropIns}/${name}`);
  }
  const lines = [...main];
  for (const [, file] of [...files].toSorted(([a], [b]) => (a < b ? -1 : 1)))
    lines.push(...unitLines((await readText(file)) ?? '', file));
  const own = lines.filter(({ section }) => section === 'Manager');
  return { lines: effective(own, 'DefaultEnvironment'), unread: [...unread] };
};
/**
 * Reads the variables of the manager, of `Environment=` and of `EnvironmentFile=`. A later source overrides an
 * earlier one. Other variables of the manager belong to other services.
 */
const readVariables = async (reading: Reading, manager: readonly Line[]): Promise<void> => {
  const { lines, env, unread } = reading;
  for (const line of manager) addAssignments(reading, line, 'ETCD_');
  for (const line of effective(lines, 'Environment')) addAssignments(reading, line);
  for (const line of effective(lines, 'EnvironmentFile')) await readEnvironmentLine(reading, line);
  for (const line of effective(lines, 'PodmanArgs'))
    for (const one of runWords(splitLine(line, unread)).env)
      addAssignments(reading, { ...line, value: `"${one}"` });
  for (const [one] of wordsIn(reading, 'PassEnvironment'))
    if (env[one] === undefined) unread.add(`variable ${one}`);
  for (const one of listHostVariables(reading)) unread.add(one);
  removeVariables(reading);
};
/**
 * Expands the arguments of a systemd command line: `$NAME` becomes the words of its value, `${NAME}` a part
 * of its word, and `$$` a dollar sign. A `$NAME` inside a word stays, and a shell may expand it.
 */
const expandWords = (words: readonly string[], { env, unread }: Reading): string[] =>
  words.flatMap((word) => {
    const whole = /^\$([A-Za-z_]\w*)$/.exec(word)?.[1];
    if (whole !== undefined) {
      if (env[whole] === undefined) unread.add(`variable ${whole}`);
      return wordsOf(env[whole] ?? '') ?? [];
    }
    return [
      word.replace(/\$\$|\$\{([A-Za-z_]\w*)\}/g, (text, name: string | undefined) => {
        if (name === undefined) return '$';
        if (env[name] === undefined) unread.add(`variable ${name}`);
        return env[name] ?? text;
      }),
    ];
  });
/** The arguments of a command line with its prefix characters: `@` names another program name, `:` expands nothing. */
const execWords = (line: Line, reading: Reading): string[] => {
  const [, prefix = '', value = ''] = /^([@:+!|-]*)([\s\S]*)$/.exec(line.value) ?? [];
  const words = splitLine({ ...line, value }, reading.unread).map((word) => insertSpecifiers(word, reading));
  const given = prefix.includes('@') ? [...words.slice(0, 1), ...words.slice(2)] : words;
  return prefix.includes(':') ? given : expandWords(given, reading);
};
/** Positions of the flags of a line, including flags inside its variables. */
const flagOrigins = (
  content: string,
  { path, line }: Line,
  flags: readonly string[],
  { env, origins }: Reading,
): Map<string, Origin> => {
  const found = originsIn(content, path, flags, [], line);
  for (const name of flags.filter((one) => !found.has(`--${one}`)))
    for (const [variable, origin] of origins)
      if (env[variable]?.includes(name) === true) found.set(`--${name}`, origin);
  return found;
};
const variableNames = new Set(settingNames('flag').map(variableOf));
/** Variables that the command line only inserts: they are not settings. The server also reads a known name itself. */
const insertedOnly = (lines: readonly Line[]): string[] =>
  lines
    .filter(({ key }) => key.startsWith('Exec'))
    .flatMap(({ value }) => [...value.matchAll(/\$\{?([A-Za-z_]\w*)/g)].map(([, name = '']) => name))
    .filter((name) => !variableNames.has(name));
/** The words of a container, with its entrypoint. */
const withEntrypoint = (words: string[], reading: Reading): string[] => {
  const entry = effective(reading.lines, 'Entrypoint').at(-1);
  return entry === undefined ? words : [...splitLine(entry, reading.unread), ...words];
};
const isInRoot = (lines: readonly Line[]): boolean =>
  ['RootDirectory', 'RootImage'].some((key) => effective(lines, key).some(({ value }) => value !== '/'));
const serversOf = async (line: Line, reading: Reading): Promise<readonly ServerCommand[]> => {
  const isContainer = line.section === 'Container';
  const words = execWords(line, reading);
  const all = isContainer ? withEntrypoint(words, reading) : words;
  const isContained = isContainer || isInRoot(reading.lines);
  const around = { env: reading.env, unread: [], isContained };
  if (all[0]?.startsWith('-') === true) return [{ ...around, words: all }];
  return await readFiles(reading.reader, (read) => findServers(all, { ...around, read, depth: 0 }));
};
const startsOf = async (reading: Reading, shown: string): Promise<ReadStart[]> => {
  const { lines, reader, env, origins, unread } = reading;
  const starts: ReadStart[] = [];
  const hidden = insertedOnly(lines);
  const directory = effective(lines, 'WorkingDirectory').at(-1)?.value.replace(/^-/, '');
  for (const line of [...effective(lines, 'ExecStart'), ...effective(lines, 'Exec')])
    for (const server of await serversOf(line, reading)) {
      const content = (await reader.read(line.path)) ?? '';
      const found = flagOrigins(content, line, [...parseWords(server.words).flags.keys()], reading);
      const own = Object.fromEntries(Object.entries(server.env).filter(([name]) => !hidden.includes(name)));
      starts.push({
        start: {
          ...{ name: shown, words: server.words, env: own, origins: new Map([...origins, ...found]) },
          unread: [...new Set([...unread, ...server.unread])],
        },
        isContained: server.isContained || runsContainer(server.words.slice(0, 1)),
        directory,
      });
    }
  for (const name of hidden) delete env[name];
  const isSet = Object.keys(env).some((name) => name.startsWith('ETCD_'));
  const start = { name: shown, words: [], env, origins, unread: [...unread] };
  return starts.length === 0 && isSet ? [{ start, isContained: false, directory }] : starts;
};

/** Names of the instances of a template that have drop-ins. */
const listInstances = async (
  path: string,
  { prefix, type }: UnitName,
  reader: SourceReader,
): Promise<string[]> => {
  const found = new Set<string>();
  for (const directory of directoriesFor(path))
    for (const entry of await reader.list(directory)) {
      const name = entry.split('/')[0] ?? '';
      if (name.startsWith(`${prefix}@`) && name.endsWith(`.${type}.d`) && name !== `${prefix}@.${type}.d`)
        found.add(name.slice(0, -2));
    }
  return [...found].toSorted();
};
/** The unit to which a drop-in belongs. Undefined: the path is not the path of a drop-in, or the unit cannot be read. */
const unitOfDropIn = async (
  path: string,
  reader: SourceReader,
): Promise<
  { readonly name: string; readonly found?: { readonly path: string; readonly text: string } } | undefined
> => {
  const [, directory = '', name] = /^(.*)\/([^/]+\.(?:service|container))\.d\/[^/]+\.conf$/.exec(path) ?? [];
  if (name === undefined) return undefined;
  const template = name.replace(/@.+(\.\w+)$/, '@$1');
  for (const one of [name, template])
    for (const at of directoriesFor(`${directory}/x`).toReversed()) {
      const text = await reader.read(`${at}/${one}`);
      if (text !== undefined) return { name, found: { path: `${at}/${one}`, text } };
    }
  return { name };
};
const readLines = async (text: string, path: string, name: UnitName, reader: SourceReader): Promise<Line[]> =>
  [...unitLines(text, path), ...(await readDropIns(path, name, reader))].filter(
    ({ section }) => section === 'Service' || section === 'Container',
  );
/** A file of the same name in a directory with precedence replaces the unit. */
const replacedBy = async (path: string, reader: SourceReader): Promise<string[]> => {
  const [directory, name] = [directoryOf(path), path.slice(path.lastIndexOf('/') + 1)];
  const at = unitDirectories.indexOf(directory);
  const found: string[] = [];
  for (const one of at < 0 ? [] : unitDirectories.slice(at + 1))
    if (directory !== '/usr/lib/systemd/system' || one !== '/lib/systemd/system')
      if ((await reader.read(`${one}/${name}`)) !== undefined)
        found.push(`${one}/${name}, which replaces this unit`);
  return found;
};
/**
 * Returns the servers that a unit starts, with its drop-ins and its environment files. A drop-in is read with its unit, and a template
 * once for each of its instances.
 */
export const readUnit = async (text: string, path: string, reader: SourceReader): Promise<ReadStart[]> => {
  const owner = await unitOfDropIn(path, reader);
  const unit = owner?.found ?? { path, text };
  const full = owner?.name ?? path.slice(path.lastIndexOf('/') + 1);
  const instances = /@\.\w+$/.test(full) ? await listInstances(unit.path, parseName(full), reader) : [];
  const missing = owner !== undefined && owner.found === undefined ? [`unit ${owner.name}`] : [];
  const replaced = await replacedBy(unit.path, reader);
  const manager = await readManager(unit.path, reader);
  const starts: ReadStart[] = [];
  const withText: SourceReader = {
    ...reader,
    read: async (one) => (one === unit.path ? unit.text : await reader.read(one)),
  };
  for (const one of instances.length === 0 ? [full] : instances) {
    const name = parseName(one);
    const lines = await readLines(unit.text, unit.path, name, reader);
    const included = effective(lines, '.include').map(({ value }) => value);
    const unread = new Set([...missing, ...replaced, ...included, ...manager.unread]);
    const reading = { lines, name, reader: withText, env: {}, origins: new Map<string, Origin>(), unread };
    await readVariables(reading, manager.lines);
    starts.push(...(await startsOf(reading, instances.length === 0 ? '' : one)));
  }
  return starts;
};
