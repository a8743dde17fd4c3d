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
  type RepeatedKey,
  type ServerStart,
  type SourceReader,
  keyOrigins,
  originsIn,
  parseConfig,
  repeatText,
  splitDocuments,
  type Origin,
} from './configuration.ts';
import {
  containerStarts,
  findServers,
  isMapping,
  type Mapping,
  emptyEnvironment,
  readFiles,
  type ReadStart,
  serverWords,
  serversInScript,
  textsOf,
} from './server-command.ts';
import { readUnit } from './units.ts';
import {
  plainValues,
  environmentNotes,
  insertInPod,
  isEnvironment,
  isScript,
  readEnvironment,
  setsServer,
  insertText,
  lexShell,
} from './variables.ts';
import { normalizeKeys, parseWords } from './values.ts';

const repeatNotes = (repeats: readonly RepeatedKey[] = []) =>
  repeats.map((one) => ({ key: one.key, ...repeatText(one) }));
/** Adds the configuration file that the server reads, or its path if it cannot be read here. */
const withConfigFile = async (
  start: ServerStart,
  reader: SourceReader,
  isContained: boolean,
  directory?: string,
): Promise<ServerStart> => {
  const { flags } = parseWords(start.words);
  const path = findServerFile(flags, start.env[FILE_VARIABLE], undefined);
  if (path === undefined) return start;
  const isOfVariable = findServerFile(flags, undefined, undefined) === undefined;
  const found: ServerStart = isOfVariable ? { ...start, isFileOfVariable: true } : start;
  // A relative path depends on the working directory of the server.
  const full =
    path.startsWith('/') || directory?.startsWith('/') !== true
      ? path
      : `${directory}/${path.replace(/^\.\//, '')}`;
  const isHere = !isContained && full.startsWith('/');
  const text = isHere ? await reader.read(full) : undefined;
  const parsed = text === undefined ? undefined : await parseConfig(text);
  if (text === undefined || parsed === undefined || !('file' in parsed))
    return { ...found, unreadFile: path };
  const origins = new Map([...start.origins, ...keyOrigins(text, full)]);
  return { ...found, file: parsed.file, origins, fileNotes: repeatNotes(parsed.repeats) };
};
export type SourceFormat = (typeof sourceFormats)[number];
export type Source = { readonly format: SourceFormat; readonly starts: readonly ServerStart[] };
type Read = { readonly format: SourceFormat; readonly starts: readonly ReadStart[] };
const onHost = (start: ServerStart): ReadStart => ({ start, isContained: false });
const readEnvironmentFile = (text: string, path: string): Read => {
  const { env, origins, comments } = readEnvironment(text, path);
  const notes = environmentNotes(text, comments);
  return { format: 'env', starts: [onHost({ name: '', words: [], env, origins, unread: [], notes })] };
};

/** Returns the containers of a Pod, of the template of a workload, or of a list of workloads. */
const listContainers = (value: unknown): Mapping[] => {
  if (!isMapping(value)) return [];
  if (Array.isArray(value['items'])) return value['items'].flatMap(listContainers);
  const spec = value['spec'];
  if (!isMapping(spec)) return [];
  const jobs = isMapping(spec['jobTemplate']) ? listContainers(spec['jobTemplate']) : [];
  if (isMapping(spec['template'])) return [...jobs, ...listContainers(spec['template'])];
  const list = (key: string): Mapping[] => (Array.isArray(spec[key]) ? spec[key].filter(isMapping) : []);
  // An init container that restarts always runs next to the others.
  const sidecars = list('initContainers').filter((one) => one['restartPolicy'] === 'Always');
  return [...jobs, ...list('containers'), ...sidecars];
};
type ConfigMaps = ReadonlyMap<string, Mapping>;
const listConfigMaps = (documents: readonly unknown[]): ConfigMaps => {
  const all = documents.flatMap((one) =>
    isMapping(one) && Array.isArray(one['items']) ? one['items'] : [one],
  );
  return new Map(
    all.filter(isMapping).flatMap((one) => {
      const [metadata, data] = [one['metadata'], one['data']];
      const name = isMapping(metadata) ? metadata['name'] : undefined;
      return one['kind'] === 'ConfigMap' && typeof name === 'string'
        ? [[name, isMapping(data) ? data : {}]]
        : [];
    }),
  );
};
type PodVariables = { readonly env: Record<string, string>; readonly unread: string[] };
const nameIn = (reference: unknown): string | undefined =>
  isMapping(reference) ? String(reference['name']) : undefined;
/** Reads `envFrom`. The values of a ConfigMap in the same file are known; those of a Secret stay unread. */
const addReferences = (container: Mapping, maps: ConfigMaps, { env, unread }: PodVariables): void => {
  for (const one of Array.isArray(container['envFrom']) ? container['envFrom'].filter(isMapping) : []) {
    const prefix = typeof one['prefix'] === 'string' ? one['prefix'] : '';
    const name = nameIn(one['configMapRef']);
    const data = maps.get(name ?? '');
    if (name === undefined) unread.push(`envFrom secret ${nameIn(one['secretRef']) ?? '?'}`);
    else if (data === undefined) unread.push(`envFrom configMap ${name}`);
    for (const [key, value] of Object.entries(data ?? {})) env[`${prefix}${key}`] = String(value);
  }
};
const valueFromMap = (source: unknown, maps: ConfigMaps): string | undefined => {
  const reference = isMapping(source) ? source['configMapKeyRef'] : undefined;
  if (!isMapping(reference)) return undefined;
  const value = maps.get(String(reference['name']))?.[String(reference['key'])];
  return value === undefined ? undefined : String(value);
};
const podVariables = (container: Mapping, maps: ConfigMaps): PodVariables => {
  const found: PodVariables = { env: {}, unread: [] };
  addReferences(container, maps, found);
  const { env, unread } = found;
  for (const one of Array.isArray(container['env']) ? container['env'].filter(isMapping) : []) {
    const name = String(one['name']);
    const value =
      one['valueFrom'] === undefined ? String(one['value'] ?? '') : valueFromMap(one['valueFrom'], maps);
    delete env[name];
    if (value === undefined) unread.push(`variable ${name}`);
    else env[name] = insertInPod(value, env);
  }
  return found;
};
/** Names in `$(NAME)` that the container does not set: the kubelet leaves them as they are. */
const missingNames = (words: readonly string[]): string[] =>
  words.flatMap((word) =>
    [...word.matchAll(/\$\(([A-Za-z_][\w.-]*)\)/g)].flatMap(([, name = '']) =>
      name === 'template' ? [] : [`variable ${name}`],
    ),
  );
const readPods = (documents: readonly unknown[], text: string, path: string): ReadStart[] => {
  const maps = listConfigMaps(documents);
  return documents.flatMap(listContainers).flatMap((container) => {
    const name = String(container['name'] ?? '');
    const { env, unread } = podVariables(container, maps);
    const words = [...textsOf(container['command']), ...textsOf(container['args'])].map((word) =>
      insertInPod(word, env),
    );
    const all = [...new Set([...unread, ...missingNames(words)])];
    return containerStarts([{ text, path, line: 1 }], { name, words, env, unread: all });
  });
};

const knownKeys = new Set([...settingNames('file'), ...settingNames('flag'), ...Object.keys(fileSections)]);
/** The program that a unit or a command starts, without its directory. */
const programIn = (text: string, format: SourceFormat): string | undefined => {
  const [, command = ''] = /^[ \t]*Exec(?:Start)?[ \t]*=[ \t]*[@:+!|-]*(.*)$/m.exec(text) ?? [];
  const [word] = lexShell(format === 'unit' ? command : text).commands[0]?.words ?? [];
  return word?.text.split('/').at(-1);
};
const notServer = (path: string, text: string, format: SourceFormat): AppError => {
  const program = format === 'unit' || format === 'command' ? programIn(text, format) : undefined;
  const isStart = program !== undefined || format === 'pod' || format === 'compose';
  const named = program === undefined ? '' : `: ${program}`;
  const why = isStart
    ? `it starts no program that opsctl knows as a server${named}`
    : 'it contains no server setting';
  return new AppError('config', `cannot use ${path}: ${why}`, {
    code: 'NO_SERVER_SETTINGS',
    tryThis: [
      'use a configuration file, an environment file, a systemd unit, a pod manifest, a compose file or a file with the command line',
      'choose the format if opsctl identified another one: --format config|env|unit|pod|compose|command',
    ],
  });
};
const sourceError = (path: string, why: string): AppError =>
  new AppError('no', `no version can read ${path}: ${why}`, { code: 'CONFIG_BROKEN' });

const readCommand = async (text: string, path: string, reader: SourceReader): Promise<Read | undefined> => {
  const found = await readFiles(reader, (read) => serversInScript(text, { ...emptyEnvironment, read }));
  const starts = found.flatMap(({ words, env, unread, isContained }): ReadStart[] => {
    const variables = Object.keys(env).filter((name) => name.startsWith('ETCD_'));
    if (words.length < 2 && variables.length + unread.length === 0) return [];
    const origins = originsIn(text, path, parseWords(words).flags.keys(), variables);
    return [{ start: { name: '', words, env, origins, unread }, isContained }];
  });
  return starts.length === 0 ? undefined : { format: 'command', starts };
};
const readScript = async (text: string, path: string, reader: SourceReader): Promise<Read> => {
  const command = await readCommand(text, path, reader);
  if (command === undefined)
    throw new AppError('config', `cannot use ${path}: it is a script, and opsctl does not run it`, {
      code: 'NO_SERVER_SETTINGS',
      tryThis: [
        'check the environment file or the configuration file that the script uses',
        'check the running members, whose command lines and variables opsctl reads: opsctl kv check --cluster FILE',
      ],
    });
  return command;
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
const withoutServices = (file: Mapping): boolean =>
  Object.keys(file).length > 0 &&
  Object.values(file).every(
    (one) => isMapping(one) && (one['image'] !== undefined || one['build'] !== undefined),
  );
const readValues = async (
  text: string,
  path: string,
  reader: SourceReader,
  format: SourceFormat | undefined,
): Promise<Read> => {
  const parsed = await parseConfig(text);
  if ('broken' in parsed) {
    const command = format === undefined ? await readCommand(text, path, reader) : undefined;
    if (command !== undefined) return command;
    if (format === undefined && setsServer(text)) return readEnvironmentFile(text, path);
    throw sourceError(path, parsed.broken);
  }
  const { file } = parsed;
  const is = (one: SourceFormat, looks: boolean): boolean =>
    format === one || (format === undefined && looks);
  // The first version of the format has no key `services`.
  if (is('compose', isMapping(file['services']) || file['include'] !== undefined || withoutServices(file)))
    return { format: 'compose', starts: await readCompose(file, text, path, reader) };
  if (is('pod', isManifest(file)))
    return { format: 'pod', starts: readPods(await listDocuments(text), text, path) };
  const hasKnown = Object.keys(normalizeKeys(file)).some((key) => knownKeys.has(key));
  const notes = repeatNotes(parsed.repeats);
  const start = { name: '', words: [], env: {}, file, origins: keyOrigins(text, path), unread: [], notes };
  return { format: 'config', starts: hasKnown ? [onHost(start)] : [] };
};
/** A command as a list of words. Undefined if the text is no such list. */
const readList = async (text: string, path: string): Promise<Read | undefined> => {
  const list = /^\s*\[/.test(text) ? await listWords(text) : undefined;
  if (list === undefined) return undefined;
  const starts = findServers(list, emptyEnvironment).map(({ words, env, unread, isContained }): ReadStart => {
    const origins = originsIn(text, path, parseWords(words).flags.keys(), Object.keys(env));
    return { start: { name: '', words, env, origins, unread }, isContained };
  });
  return { format: 'command', starts };
};
const readFormat = async (
  text: string,
  path: string,
  reader: SourceReader,
  format: SourceFormat | undefined,
): Promise<Read> => {
  const is = (one: SourceFormat, looks: boolean): boolean =>
    format === one || (format === undefined && looks);
  if (is('unit', /^\s*\[(Unit|Service|Install|Container)\]\s*$/m.test(text)))
    return { format: 'unit', starts: await readUnit(text, path, reader) };
  // A command may begin with assignments and continue on further lines.
  const hasCommand = (): boolean =>
    plainValues(text).some((value) => serverWords((wordsOf(value) ?? []).slice(1)) !== undefined);
  if (is('env', isEnvironment(text) && !hasCommand())) return readEnvironmentFile(text, path);
  if (format === undefined && isScript(text)) return await readScript(text, path, reader);
  const list = is('command', true) ? await readList(text, path) : undefined;
  if (list !== undefined) return list;
  if (format === 'command') return (await readCommand(text, path, reader)) ?? { format, starts: [] };
  return await readValues(text, path, reader, format);
};
const listWords = async (text: string): Promise<string[] | undefined> => {
  const { parseDocument } = await import('../../../platform/yaml.ts');
  const value: unknown = parseDocument(text).toJS();
  return Array.isArray(value) ? value.map(String) : undefined;
};

/** Expressions of a template, which a tool replaces before the server reads the file. */
const templates = /\{\{.*?\}\}|<%.*?%>/g;
/** Marks the expressions of a template as unknown values, and lists them. */
const withoutTemplates = (text: string): { readonly text: string; readonly unread: readonly string[] } => {
  const found = [...new Set(text.match(templates) ?? [])];
  if (found.length === 0) return { text, unread: [] };
  const statements = text.match(/^\s*\{%.*%\}\s*$/gm) ?? [];
  return {
    text: text.replace(/^\s*\{%.*%\}\s*$/gm, '').replace(templates, '$(template)'),
    unread: [...found, ...new Set(statements)].map((one) => `template ${one.trim()}`),
  };
};
/** The servers that a file starts or configures. Throws if the file contains no setting of a server. */
export const readSource = async (
  given: string,
  path: string,
  reader: SourceReader,
  format?: SourceFormat,
): Promise<Source> => {
  const { text, unread } = withoutTemplates(given);
  const found = await readFormat(text, path, reader, format);
  const starts = await Promise.all(
    found.starts.map(async ({ start, isContained, directory }) => {
      const whole =
        start.file === undefined ? await withConfigFile(start, reader, isContained, directory) : start;
      const isPartial = isContained || found.format === 'env' || found.format === 'command';
      return {
        ...whole,
        unread: [...whole.unread, ...unread],
        ...(isPartial ? ({ isPartial: true } as const) : {}),
      };
    }),
  );
  const isKnown = ({ file, words, env }: ServerStart): boolean =>
    file !== undefined || words.length > 0 || Object.keys(env).some((name) => name.startsWith('ETCD_'));
  if (!starts.some(isKnown)) throw notServer(path, text, found.format);
  return { format: found.format, starts };
};

const directoryOf = (path: string): string => path.slice(0, Math.max(1, path.lastIndexOf('/')));
const at = (path: string, name: string): string =>
  name.startsWith('/') ? name : `${directoryOf(path)}/${name.replace(/^\.\//, '')}`;
type File = {
  readonly path: string;
  readonly text: string;
  readonly services: Mapping;
  readonly included: readonly string[];
};
/** One service with everything that it extends. */
type Service = {
  readonly name: string;
  readonly settings: Mapping;
  readonly documents: readonly File[];
  readonly unread: readonly string[];
};

/** The variables of a service. A name without a value comes from `.env`, or from the shell that starts compose: then it is unknown. */
const listVariables = (value: unknown): (readonly [name: string, value: string | undefined])[] =>
  isMapping(value)
    ? Object.entries(value).map(([name, one]) => [name, one === null ? undefined : String(one)])
    : textsOf(value).map((one) => {
        const [, name, text] = /^(\w+)=([\s\S]*)$/.exec(one) ?? [];
        return name === undefined ? [one, undefined] : [name, text];
      });
const envFiles = (value: unknown): { readonly path: string; readonly isOptional: boolean }[] =>
  (Array.isArray(value) ? value : value === undefined || value === null ? [] : [value]).map((one) =>
    isMapping(one)
      ? { path: String(one['path']), isOptional: one['required'] === false }
      : { path: String(one), isOptional: false },
  );
/** Settings of a service on top of the settings that it extends: variables and environment files add up. */
const mergeService = (base: Mapping, own: Mapping): Mapping => {
  const env = [...listVariables(base['environment']), ...listVariables(own['environment'])];
  return {
    ...base,
    ...own,
    environment: Object.fromEntries(env.map(([name, value]) => [name, value ?? null])),
    env_file: [...envFiles(base['env_file']), ...envFiles(own['env_file'])].map(({ path, isOptional }) => ({
      path,
      required: !isOptional,
    })),
  };
};
/** Relative environment files belong to the directory of the file that names them. */
const withPaths = (service: Mapping, path: string): Mapping => ({
  ...service,
  env_file: envFiles(service['env_file']).map((one) => ({
    path: /[$]/.test(one.path) ? one.path : at(path, one.path),
    required: !one.isOptional,
  })),
});
const MAX_EXTENDED = 20;
const readFile = async (path: string, reader: SourceReader): Promise<File | undefined> => {
  const text = await reader.read(path);
  const parsed = text === undefined ? undefined : await parseConfig(text);
  return text === undefined || parsed === undefined || !('file' in parsed)
    ? undefined
    : fileFrom(parsed.file, text, path);
};
const fileFrom = (file: Mapping, text: string, path: string): File => {
  const services = isMapping(file['services']) ? file['services'] : file;
  const include = file['include'];
  const included = (Array.isArray(include) ? include : []).flatMap((one) => {
    const paths = isMapping(one) ? one['path'] : one;
    return (Array.isArray(paths) ? paths : [paths]).map((named) => at(path, String(named)));
  });
  return { path, text, services, included };
};
/** Reads a service with the services that it extends, in this file or in others. */
const readService = async (name: string, file: File, reader: SourceReader, depth = 0): Promise<Service> => {
  const own = isMapping(file.services[name]) ? file.services[name] : {};
  const settings = withPaths(own, file.path);
  const base = { name, settings, documents: [file], unread: [] };
  const given = own['extends'];
  if (given === undefined || given === null) return base;
  const target = isMapping(given) ? String(given['service']) : String(given);
  const path =
    isMapping(given) && given['file'] !== undefined ? at(file.path, String(given['file'])) : file.path;
  const other = path === file.path ? file : await readFile(path, reader);
  if (other === undefined || !isMapping(other.services[target]) || depth > MAX_EXTENDED)
    return { ...base, unread: [`service ${target} of ${path}, which ${name} extends`] };
  const extended = await readService(target, other, reader, depth + 1);
  return {
    name,
    settings: mergeService(extended.settings, settings),
    documents: [file, ...extended.documents],
    unread: extended.unread,
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
const readEnvFiles = async (value: unknown, path: string, reader: SourceReader) => {
  const [env, unread, origins]: [Record<string, string>, string[], Map<string, Origin>] = [{}, [], new Map()];
  for (const { path: named, isOptional } of envFiles(value)) {
    const full = at(path, named);
    const content = await reader.read(full);
    if (content === undefined) unread.push(isOptional ? `${full} (optional)` : full);
    else {
      const read = readEnvironment(content, full, 'container');
      if (read.isOpen) unread.push(`${full} (a quote is not closed)`);
      Object.assign(env, read.env);
      for (const [key, origin] of read.origins) origins.set(key, origin);
    }
  }
  return { env, unread, origins };
};
const lineOf = (text: string, name: string): number => {
  const key = `${name}:`;
  const found = text.split('\n').findIndex((one) => one.trimStart().startsWith(key));
  return Math.max(1, found + 1);
};
const startsOf = async (
  { name, settings, documents, unread: unreadServices }: Service,
  reader: SourceReader,
  inserted: Readonly<Record<string, string>>,
): Promise<ReadStart[]> => {
  const missing = new Set<string>();
  const service = Object.fromEntries(
    ['env_file', 'environment', 'entrypoint', 'command'].map((key) => [
      key,
      insertVariables(settings[key], inserted, missing),
    ]),
  );
  const read = await readEnvFiles(service['env_file'], documents[0]?.path ?? '/', reader);
  const rows = listVariables(service['environment']).map(
    ([one, value]) => [one, value ?? inserted[one]] as const,
  );
  const own = Object.fromEntries(rows.filter(([, value]) => value !== undefined)) as Record<string, string>;
  const passed = rows.filter(([one, value]) => value === undefined && one.startsWith('ETCD_'));
  const unread = [...unreadServices, ...read.unread, ...missing, ...passed.map(([one]) => `variable ${one}`)];
  const words = [...textsOf(service['entrypoint']), ...textsOf(service['command'])];
  const places = documents.map(({ text, path }) => ({ text, path, line: lineOf(text, name) }));
  const others = [...read.origins].filter(([key]) => own[key] === undefined);
  return containerStarts(places, { name, words, env: { ...read.env, ...own }, unread }).map((one) => ({
    ...one,
    start: { ...one.start, origins: new Map([...one.start.origins, ...others]) },
  }));
};
/** Docker adds the settings of the file `compose.override.yaml` next to a compose file. */
const overrideOf = async (path: string, reader: SourceReader): Promise<File | undefined> => {
  const [, stem] = /^(.*\/(?:docker-)?compose)\.ya?ml$/.exec(path) ?? [];
  if (stem === undefined) return undefined;
  return (
    (await readFile(`${stem}.override.yml`, reader)) ?? (await readFile(`${stem}.override.yaml`, reader))
  );
};
const withOverride = async (
  file: File,
  override: File | undefined,
  name: string,
  reader: SourceReader,
): Promise<Service> => {
  const own = await readService(name, file, reader);
  if (override === undefined || !isMapping(override.services[name])) return own;
  const more = await readService(name, override, reader);
  const settings = isMapping(file.services[name]) ? mergeService(own.settings, more.settings) : more.settings;
  return {
    name,
    settings,
    documents: [...more.documents, ...own.documents],
    unread: [...own.unread, ...more.unread],
  };
};
const readAll = async (file: File, reader: SourceReader, depth: number): Promise<ReadStart[]> => {
  const project = await reader.read(`${directoryOf(file.path)}/.env`);
  const inserted = project === undefined ? {} : readEnvironment(project, '.env', 'container').env;
  const override = await overrideOf(file.path, reader);
  const names = new Set([...Object.keys(file.services), ...Object.keys(override?.services ?? {})]);
  const starts: ReadStart[] = [];
  for (const name of names)
    if (isMapping(file.services[name]) || isMapping(override?.services[name]))
      starts.push(...(await startsOf(await withOverride(file, override, name, reader), reader, inserted)));
  const missing: string[] = [];
  for (const path of file.included) {
    const other = depth > MAX_EXTENDED ? undefined : await readFile(path, reader);
    if (other === undefined) missing.push(path);
    else starts.push(...(await readAll(other, reader, depth + 1)));
  }
  return missing.length === 0
    ? starts
    : starts.map((one) => ({ ...one, start: { ...one.start, unread: [...one.start.unread, ...missing] } }));
};
/** Returns the servers of a compose file, with the services that it extends, its override file and the files that it includes. */
const readCompose = (file: Mapping, text: string, path: string, reader: SourceReader): Promise<ReadStart[]> =>
  readAll(fileFrom(file, text, path), reader, 0);
