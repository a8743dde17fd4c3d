import { isAbsolute, resolve } from 'node:path';
import type { Host } from '../host/host.ts';
import { checkFields } from '../kernel/check.ts';
import { AppError, problem, problemText } from '../kernel/problem.ts';
import type { Problem } from '../kernel/problem.ts';
import { objectSchema } from '../kernel/schema.ts';
import { nextMinor, versionRows } from '../services/kv/versions.ts';
import { clusterFields } from './cluster-fields.ts';
import { argvOf, wordsOf } from './command-line.ts';
import type { ClusterFile, CommandLine, MemberSpec } from './types.ts';

const isCommandLine = (value: unknown): value is CommandLine =>
  typeof value === 'string' ? (wordsOf(value)?.length ?? 0) > 0 : Array.isArray(value) && value.every((word) => typeof word === 'string');

const repeated = (values: readonly (string | undefined)[]): number =>
  values.findIndex((value, i) => value !== undefined && values.indexOf(value) !== i);

const memberProblems = (member: MemberSpec, at: string, driver: string): Problem[] => {
  const needed: Readonly<Record<string, readonly (keyof MemberSpec)[]>> = {
    local: ['pid_file', 'log_file'],
    systemd: ['unit'],
    ssh: ['host'],
    docker: ['container'],
    'static-pod': ['manifest', 'new_image', 'old_image'],
  };
  const missing = (needed[driver] ?? []).filter((key) => member[key] === undefined);
  const found = missing.map((key) => problem(`${at}.${key}`, 'required', `is required with driver ${driver} (${member.name})`));
  for (const which of ['old', 'new'] as const) {
    const [line, binary] = [member[`${which}_command`], member[`${which}_binary`]];
    if (line !== undefined && !isCommandLine(line))
      found.push(problem(`${at}.${which}_command`, 'type', 'must be a list of words or one line of text with closed quotes'));
    else if (driver === 'local' && argvOf(line, binary) === undefined) {
      found.push(
        problem(
          `${at}.${which}_command`,
          'required',
          `is required with driver local (${member.name})`,
          `or ${which}_binary, when the line has only flags`,
        ),
      );
    }
  }
  return found;
};

export type Purpose = 'read' | 'upgrade';
/** Everything that is wrong with a cluster file's content, all at once. A file that only names URLs is enough to look at a cluster. Pure. */
export const clusterProblems = (content: unknown, purpose: Purpose = 'upgrade'): Problem[] => {
  if (typeof content !== 'object' || content === null || Array.isArray(content))
    return [problem('', 'type', 'must be a mapping with `name` and `members`')];
  const found = checkFields(clusterFields, content as Record<string, unknown>);
  if (found.length > 0) return found;
  const cluster = content as ClusterFile;
  const driver = cluster.driver ?? 'local';
  if (purpose === 'upgrade') found.push(...cluster.members.flatMap((member, i) => memberProblems(member, `members[${i}]`, driver)));
  for (const key of ['name', 'client_url', 'data_dir', 'pid_file'] as const) {
    // Two hosts may use the same folder names; names and URLs never.
    if ((key === 'data_dir' || key === 'pid_file') && driver !== 'local') continue;
    const i = repeated(cluster.members.map((member) => member[key] as string | undefined));
    if (i >= 0) found.push(problem(`members[${i}].${key}`, 'rule', `is the same as another member's`));
  }
  for (const [name, line] of Object.entries(cluster.hooks ?? {})) {
    if (!isCommandLine(line)) found.push(problem(`hooks.${name}`, 'type', 'must be a list of words or one line of text with closed quotes'));
  }
  if (
    purpose === 'upgrade' &&
    driver === 'hooks' &&
    (cluster.hooks?.stop === undefined || cluster.hooks.start_new === undefined || cluster.hooks.start_old === undefined)
  ) {
    found.push(problem('hooks', 'required', 'needs stop, start_old and start_new with driver hooks'));
  }
  const targets = versionRows.flatMap((row) => nextMinor(row.minor) ?? []);
  if (cluster.to !== undefined && !targets.includes(cluster.to as never))
    found.push(problem('to', 'enum', `must be one of ${targets.join(', ')}; got ${cluster.to}`));
  return found;
};

const pathKeys = ['data_dir', 'pid_file', 'log_file', 'old_binary', 'new_binary', 'config_file', 'binary_path', 'manifest'] as const;
/** Paths in the file are relative to the file. Not those of other hosts, not a bare program name, and not words of a command. */
const withAbsolutePaths = (cluster: ClusterFile, folder: string): ClusterFile => {
  const absolute = (path: string): string => (isAbsolute(path) || !path.includes('/') ? path : resolve(folder, path));
  const isHere = cluster.driver !== 'ssh';
  const member = (spec: MemberSpec): MemberSpec => {
    const changed = pathKeys.flatMap((key) => {
      const value = spec[key];
      if (value === undefined || !isHere) return [];
      const isProgram = key === 'old_binary' || key === 'new_binary';
      return [[key, isProgram ? absolute(value) : resolve(folder, value)]];
    });
    return { ...spec, ...Object.fromEntries(changed) };
  };
  const { snapshot_dir, ctl_binary, tls, user } = cluster;
  const within = <T extends object>(part: T, keys: readonly (keyof T)[]): T => {
    const named = keys.filter((key) => typeof part[key] === 'string');
    return { ...part, ...Object.fromEntries(named.map((key) => [key, resolve(folder, part[key] as string)])) };
  };
  return {
    ...cluster,
    members: cluster.members.map(member),
    ...(snapshot_dir === undefined ? {} : { snapshot_dir: resolve(folder, snapshot_dir) }),
    ...(ctl_binary === undefined ? {} : { ctl_binary: absolute(ctl_binary) }),
    ...(tls === undefined ? {} : { tls: within(tls, ['ca_file', 'cert_file', 'key_file']) }),
    ...(user === undefined ? {} : { user: within(user, ['password_file']) }),
  };
};

export const readCluster = async (host: Host, path: string, purpose: Purpose = 'read'): Promise<ClusterFile> => {
  const absolute = resolve(host.cwd, path);
  const text = await host.files.read(absolute);
  if (text === undefined)
    throw new AppError('config', `there is no cluster file ${path}`, {
      code: 'NO_CLUSTER_FILE',
      tryThis: ['opsctl kv init --endpoints URL --out cluster.yaml', 'opsctl mock kv start --members 3'],
    });
  return withAbsolutePaths(await clusterFrom(text, path, purpose), resolve(absolute, '..'));
};

/** The cluster in a YAML (or JSON) text; an error names every line that is wrong. */
const clusterFrom = async (text: string, what: string, purpose: Purpose): Promise<ClusterFile> => {
  const { isMap, isScalar, parseDocument } = await import('./yaml.ts');
  const document = parseDocument(text, { prettyErrors: true });
  const broken = document.errors[0];
  if (broken !== undefined) throw new AppError('config', `${what} is not YAML: ${broken.message}`, { code: 'CLUSTER_FILE' });
  // `to: 3.4` is a number to YAML, and 3.10 would become 3.1: what was typed counts.
  const to = isMap(document.contents) ? document.get('to', true) : undefined;
  if (isScalar(to) && typeof to.value === 'number') to.value = to.source;
  const content: unknown = document.toJS();
  const problems = clusterProblems(content, purpose);
  if (problems.length > 0) throw new AppError('config', `${what}: ${problemText(problems[0] as Problem)}`, { code: 'CLUSTER_FILE', problems });
  return content as ClusterFile;
};

/** JSON Schema of the cluster file, for editors. */
export const clusterSchema = (): Record<string, unknown> => ({
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  title: 'opsctl cluster file',
  ...objectSchema(clusterFields, new Map(), { version: '3.1', refPrefix: '#/$defs/' }),
});
