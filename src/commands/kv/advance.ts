import { minorOf } from '../../api-specs/etcd/versions.ts';
import type { Context } from '../../api/context.ts';
import { defineCommand } from '../../cli/command.ts';
import type { ValuesOf } from '../../core/flag.ts';
import { next } from '../../core/next.ts';
import { AppError } from '../../core/problem.ts';
import { recordResult, type Result } from '../../core/result.ts';
import { clusterFlags } from './flags.ts';
import { driverFor, openCluster, type Opened } from './prepare.ts';

/** Every member must run its new version: otherwise the old one is still needed for a rollback. */
const needNewEverywhere = async (context: Context, { cluster, access }: Opened): Promise<string> => {
  const driver = await driverFor(context, cluster);
  const { observe } = await import('../../kv/upgrade/observe/observe.ts');
  const observation = await observe({ host: context.host, cluster, access, driver });
  const others = observation.members.filter(
    ({ server_version, cluster_version, host }) =>
      host?.new_binary_version === undefined ||
      minorOf(server_version) !== minorOf(host.new_binary_version) ||
      minorOf(cluster_version) !== minorOf(host.new_binary_version),
  );
  if (others.length === 0) return observation.members[0]?.server_version ?? '';
  const said = others.map(
    ({ name, server_version, host }) =>
      `${name} runs ${server_version ?? 'nothing'}, and its new program is ${host?.new_binary_version ?? 'unknown'}`,
  );
  throw new AppError('unsafe', `${said.join('; ')}; no changes were made`, {
    code: 'NOT_UPGRADED',
    tryThis: [next(['kv', 'status']), next(['kv', 'resume'])],
  });
};
/** With a table of versions, the new programs are those of the running version. */
const withRunning = async (opened: Opened): Promise<Opened> => {
  const { hasVersions, hopView, lowestOf } = await import('../../kv/upgrade/path.ts');
  const { cluster, access } = opened;
  if (!hasVersions(cluster)) return opened;
  const versions = cluster.members.map(({ client_url }) =>
    access
      .store(client_url)
      .versions()
      .catch(() => undefined),
  );
  const running = lowestOf((await Promise.all(versions)).map((one) => one?.server));
  return running === undefined ? opened : { ...opened, cluster: hopView(cluster, running, running) };
};
const advanceFile = async (context: Context, values: ValuesOf<typeof clusterFlags>): Promise<Result> => {
  const { host } = context;
  const opened = await openCluster(context, values, 'upgrade');
  const file = opened.file as string;
  const version = await needNewEverywhere(context, await withRunning(opened));
  const { advanceText } = await import('../../kv/upgrade/cluster/yaml-file.ts');
  const before = (await host.files.read(file)) ?? '';
  const minor = minorOf(version) ?? version;
  const { text, changes } = await advanceText(before, minor);
  const data = { cluster_file: file, version, changes };
  if (context.isDryRun) return recordResult(data, { text });
  if (changes.length === 0)
    return recordResult(data, { message: `${file} already describes ${minor}`, name: 'cluster_file' });
  const kept = `${file}.before-${minor}`;
  const mode = (await host.files.info(file))?.mode;
  await host.files.replace(kept, before, mode);
  await host.files.replace(file, text, mode);
  for (const change of changes) context.log.info(change);
  return recordResult(
    { ...data, kept },
    { message: `${file} describes ${minor} now; the previous content is in ${kept}`, name: 'cluster_file' },
  );
};
export const advance = defineCommand({
  path: ['kv', 'advance'],
  summary: 'Update the cluster file after an upgrade',
  about:
    'Makes the new programs, commands and images of the cluster file the old ones, so that kv restart and the next upgrade start from the running version. Keeps comments, and keeps the previous content next to the file. Refuses while a member does not run its new version, because a rollback still needs the old one.',
  flags: clusterFlags,
  examples: [
    { line: 'opsctl kv advance --cluster cluster.yaml --dry-run', says: 'Show the file without writing it' },
    {
      line: 'opsctl kv advance --cluster cluster.yaml',
      says: 'Prepare the file for restarts and the next upgrade',
    },
  ],
  run: advanceFile,
});
