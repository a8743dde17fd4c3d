import { childPath, pathPart } from '../core/file-name.ts';
import { dirname, join, resolve } from 'node:path';
import { invalidArguments, problem } from '../core/problem.ts';
import type { Settings } from '../config/settings.ts';
import { printable, type Redactor } from '../output/types.ts';
import type { Host } from '../platform/host.ts';
import type { Reach } from '../api/context.ts';
import type { Globals } from './options.ts';
import { type Exchange, harOf, traceLines, tracedHost } from './trace.ts';

export type Tracing = {
  readonly host: Host;
  /** Resolves the service URLs: as configured, recorded for a trace, or taken from the replayed trace. */
  readonly reach: (given: Reach) => Reach;
  /** Files of earlier runs are not part of a trace, and a replay leaves no files for later runs. */
  readonly settings: (given: Settings) => Settings;
  readonly end: () => Promise<void>;
};
type Services = Record<string, { baseUrl: string; basePath?: string; planningWord?: string }>;

const noteServices = (given: Reach, services: Services): Reach => ({
  ...given,
  reach: async (service) => {
    const target = await given.reach(service);
    services[service] = { baseUrl: target.baseUrl, ...target.wording };
    return target;
  },
});

/** Uses the responses of a trace instead of the network. */
const replaying = async (host: Host, file: string): Promise<Pick<Tracing, 'host' | 'reach'>> => {
  const [{ readTrace }, { replayingHost, replayingReach }] = await Promise.all([
    import('./trace-file.ts'),
    import('./trace-file.ts'),
  ]);
  const trace = await readTrace(host, file);
  return { host: replayingHost(host, trace), reach: () => replayingReach(trace) };
};

/** An empty home for a run that must not see earlier runs. It is removed at the end. */
const emptyDirectory = ({ files, pid, random }: Host): string =>
  childPath(
    files.temporaryDirectory(),
    pathPart(`opsctl-trace-${pid}-${Buffer.from(random(8)).toString('hex')}`),
  );

const withoutCaches =
  (empty: string, isReplay: boolean) =>
  (settings: Settings): Settings => {
    const state = isReplay ? join(empty, 'state') : settings.directories.state;
    return { ...settings, directories: { ...settings.directories, state, cache: join(empty, 'cache') } };
  };

type Kept = {
  readonly all: readonly Exchange[];
  readonly services: Services;
  readonly command: readonly string[];
};
const writeTraces = async (
  { files, cwd }: Host,
  { har, record }: Globals,
  redactor: Redactor,
  { all, services, command }: Kept,
): Promise<void> => {
  const write = (name: string, text: string): Promise<void> =>
    files.replace(resolve(cwd, name), redactor.clean(text), 0o600);
  if (har !== undefined) await write(har, harOf(all, OPSCTL_VERSION));
  if (record === undefined) return;
  const { traceText } = await import('./trace-file.ts');
  await write(
    record,
    traceText({ version: OPSCTL_VERSION, command: [...command], services, exchanges: [...all] }),
  );
};

/** Checked before a request is sent, because at the end it would be too late for an error. */
const refuseMissingDirectories = async ({ files, cwd }: Host, { har, record }: Globals): Promise<void> => {
  for (const [flag, file] of Object.entries({ '--har': har, '--record': record })) {
    if (file === undefined) continue;
    const directory = dirname(resolve(cwd, file));
    if ((await files.realPath(directory)) === undefined)
      throw invalidArguments([
        problem(flag, 'rule', `names ${file}, and there is no directory ${directory}`, 'make it first'),
      ]);
  }
};

/**
 * `--debug` prints each exchange when it finishes. `--har` and `--record` write all exchanges at the end. All
 * three mask every secret of the run. `--replay` reads responses from such a recording.
 */
export const traceHost = async (
  given: Host,
  globals: Globals,
  redactor: Redactor,
  command: readonly string[],
): Promise<Tracing> => {
  const { debug, har, record, replay } = globals;
  if (record !== undefined && replay !== undefined)
    throw invalidArguments([problem('--record', 'exclusive', 'cannot be given together with --replay')]);
  await refuseMissingDirectories(given, globals);
  const from = replay === undefined ? undefined : await replaying(given, resolve(given.cwd, replay));
  const all: Exchange[] = [];
  const services: Services = {};
  const empty = emptyDirectory(given);
  const note = (exchange: Exchange): void => {
    const lines = debug ? traceLines(exchange).map((line) => `${printable(redactor.clean(line))}\n`) : [];
    if (debug) void given.terminal.stderr.write(lines.join('')).catch(() => {});
    if (har !== undefined || record !== undefined) all.push(exchange);
  };
  const isTrace = record !== undefined || replay !== undefined;
  return {
    host: tracedHost(from?.host ?? given, note, {
      isWhole: record !== undefined,
      // Users share a log of --debug, and it contains the result between its lines.
      ...(debug ? { hide: redactor.hide } : {}),
    }),
    reach: from?.reach ?? ((reach) => noteServices(reach, services)),
    settings: isTrace ? withoutCaches(empty, replay !== undefined) : (settings) => settings,
    end: async () => {
      await given.files.remove(empty).catch(() => {});
      await writeTraces(given, globals, redactor, { all, services, command });
    },
  };
};
