import { wordsOf } from '../../engine/command-line.ts';
import { parseConfig } from './configuration.ts';
import {
  keyOrigins,
  originsIn,
  readEnvironment,
  serverWords,
  type Origin,
  type ServerStart,
  type SourceReader,
} from './server-start.ts';
import { parseWords } from './values.ts';

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
/** Drop-ins in the order in which systemd applies them: by file name, whatever the directory. */
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
/** Assignments that count: an empty one removes all before it. */
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
/** Variables of `Environment=` and then of `EnvironmentFile=`, which wins. */
const readVariables = async (lines: readonly Line[], reader: SourceReader): Promise<Environment> => {
  const found: Environment = { env: {}, origins: new Map(), unread: [] };
  for (const line of effective(lines, 'Environment')) addAssignments(found, line);
  for (const { value } of effective(lines, 'EnvironmentFile')) {
    const path = value.replace(/^-/, '');
    const text = path.includes('%') ? undefined : await reader.read(path);
    if (text === undefined) {
      found.unread.push(`EnvironmentFile ${path}${value.startsWith('-') ? ' (optional)' : ''}`);
      continue;
    }
    const read = readEnvironment(text, path);
    Object.assign(found.env, read.env);
    for (const [key, origin] of read.origins) found.origins.set(key, origin);
  }
  return found;
};
/** Words of a command line of systemd: `$NAME` becomes the words of its value, `${NAME}` a part of its word. */
const expandWords = (line: string, env: Readonly<Record<string, string>>, unread: string[]): string[] =>
  (wordsOf(line) ?? []).flatMap((word) => {
    const whole = /^\$([A-Za-z_]\w*)$/.exec(word)?.[1];
    if (whole !== undefined) {
      if (env[whole] === undefined) unread.push(`variable ${whole}`);
      return wordsOf(env[whole] ?? '') ?? [];
    }
    return [word.replace(/\$\{([A-Za-z_]\w*)\}/g, (text, name: string) => env[name] ?? text)];
  });
const withConfigFile = async (start: ServerStart, reader: SourceReader): Promise<ServerStart> => {
  const path = parseWords(start.words).flags.get('config-file') ?? start.env['ETCD_CONFIG_FILE'];
  if (path === undefined) return start;
  const text = await reader.read(path);
  const parsed = text === undefined ? undefined : await parseConfig(text);
  if (text === undefined || parsed === undefined || !('file' in parsed))
    return { ...start, unread: [...start.unread, `configuration file ${path}`] };
  return { ...start, file: parsed.file, origins: new Map([...start.origins, ...keyOrigins(text, path)]) };
};
/** Places of the flags of a line, and of flags that one of its variables contains. */
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
/** The server that a unit starts, with its drop-ins and its environment files. */
export const readUnit = async (text: string, path: string, reader: SourceReader): Promise<ServerStart[]> => {
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
    starts.push(await withConfigFile(start, reader));
  }
  // A variable that the command line only inserts is not a setting.
  for (const { value } of lines.filter(({ key }) => key.startsWith('Exec')))
    for (const [, name = ''] of value.matchAll(/\$\{?([A-Za-z_]\w*)/g)) delete env[name];
  const isSet = Object.keys(env).some((name) => name.startsWith('ETCD_'));
  return starts.length === 0 && isSet ? [{ name: '', words: [], env, origins, unread }] : starts;
};
