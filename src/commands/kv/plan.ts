import { after, next } from '../../core/next.ts';
import { dirname, resolve } from 'node:path';
import type { Context } from '../../api/context.ts';
import { defineCommand } from '../../cli/command.ts';
import { oneOf, str } from '../../core/field.ts';
import type { Flags, ValuesOf } from '../../core/flag.ts';
import { AppError } from '../../core/problem.ts';
import { rawResult, recordResult, type Result } from '../../core/result.ts';
import { shellWord } from '../../core/shell.ts';
import { namePattern, driverKinds, driverRows } from '../../kv/upgrade/cluster/drivers.ts';
import type { Draft } from '../../kv/upgrade/cluster/draft.ts';
import { countsOf, reportable } from '../../kv/upgrade/guards/guard.ts';
import { addressFlags, planFlags, type PlanValues, clusterFlags } from './flags.ts';
import {
  reportArrival,
  askAny,
  findArrived,
  makePlanRefusedError,
  openCluster,
  prepare,
  type PreparedCommand,
  shownPlan,
  driverFor,
  withRunningPrograms,
  type Opened,
} from './prepare.ts';
import { type Minor, minorOf } from '../../api-specs/etcd/versions.ts';
import { columnsOf, wrapMessage } from '../../core/format.ts';

export const plan = defineCommand({
  path: ['kv', 'plan'],
  summary: 'Show the steps of an upgrade',
  about:
    'Makes no changes. The plan contains a digest; `kv upgrade --plan FILE` fails if the cluster no longer matches the plan.',
  flags: {
    ...planFlags,
    out: {
      effects: ['writes'],
      field: str(undefined, { min: 1 }),
      summary: 'Write the plan to a file',
      value: 'file',
      complete: 'file',
    },
  },
  examples: [
    { line: 'opsctl kv plan --cluster cluster.yaml', says: 'Print the numbered plan' },
    {
      line: 'opsctl kv plan --cluster cluster.yaml --out plan.json',
      says: 'Save a plan for review; apply it with kv upgrade --plan plan.json',
    },
  ],
  run: async (context, values) => {
    const prepared = await prepare(context, values);
    const { isRefusal } = await import('../../kv/upgrade/plan.ts');
    const { made } = prepared;
    const done = await reportArrival(context, prepared);
    if (done !== undefined) return done;
    if (isRefusal(made)) throw makePlanRefusedError(made);
    const { planWithHexIds } = await import('../../kv/engine/journal.ts');
    const printed = planWithHexIds(made);
    if (values.out !== undefined) {
      await context.host.files.replace(
        resolve(context.host.cwd, values.out),
        `${JSON.stringify(printed, null, 2)}\n`,
        0o600,
      );
    }
    const text = await shownPlan(context, made, 'stdout');
    const next =
      values.out === undefined
        ? undefined
        : after(`wrote plan to ${values.out}; apply it with`, [
            'kv',
            'upgrade',
            '--plan',
            shellWord(values.out),
          ]);
    // The numbered plan is made to be read and sent by email. It has the same form in a pipe, unless data was
    // requested.
    const view = { text, name: 'digest', message: next } as const;
    if (context.isFormatGiven !== true && !context.host.terminal.stdout.isTty)
      return { ...rawResult(`${text}\n`), view };
    return recordResult(printed, view);
  },
});

const names = Object.keys(planFlags) as (keyof PlanValues)[];
/** The options of the check also apply to the upgrade. */
const sameOptions = (values: PlanValues): string[] =>
  names
    .filter((name) => name !== 'cluster')
    .flatMap((name) =>
      [values[name]]
        .flat()
        .flatMap((value) =>
          value === undefined || value === false ? [] : [value === true ? `--${name}` : `--${name} ${value}`],
        ),
    );
const arrivedData = ({ opened, observation }: PreparedCommand, to: string, isGood: boolean) => ({
  ...(isGood ? { outcome: 'done', message: `cluster ${opened.cluster.name} already runs ${to}` } : {}),
  cluster_version: observation.cluster_version,
});
export const check = defineCommand({
  path: ['kv', 'check'],
  summary: 'Run every preflight check of an upgrade',
  about:
    'Makes no changes. Runs every check and prints each finding (pass, unknown, warn or fail) with its fix. If the cluster already runs the target version, only health checks count. Exits with code 20 if a check fails.',
  flags: planFlags,
  isCheck: true,
  examples: [
    { line: 'opsctl kv check --cluster cluster.yaml --to 3.4', says: 'Check the cluster before an upgrade' },
  ],
  run: async (context, values) => {
    const prepared = await prepare(context, values);
    const { made, observation, opened, options } = prepared;
    const [{ closing, findingsText, healthClosing, wayText }, { wayOf }, done] = await Promise.all([
      import('../../kv/upgrade/present/text.ts'),
      import('../../kv/upgrade/plan.ts'),
      findArrived(prepared),
    ]);
    const findings = done?.findings ?? made.findings;
    const counts = countsOf(findings);
    const isGood = counts.fail === 0;
    const { name } = opened.cluster;
    const { from, to } = wayOf({ observation, cluster: opened.cluster, options });
    const way = { cluster: name, ...(from && { from }), ...(to && { to }) };
    const { upgradeNotes } = await import('../../kv/upgrade/present/plan-text.ts');
    const notes = done === undefined && to !== undefined ? upgradeNotes(to) : [];
    const already = done === undefined ? {} : arrivedData(prepared, done.to, isGood);
    const data = {
      ok: isGood,
      ...already,
      ...way,
      ...counts,
      findings,
      ...(notes.length === 0 ? {} : { notes }),
    };
    const columns = columnsOf(context.host.terminal.stdout);
    const show = context.showAdvice;
    const end =
      done === undefined ? closing(findings, sameOptions(values), show) : [healthClosing(findings, done.to)];
    const shown = [wayText(observation, to, columns), '', findingsText(findings, columns, show), ''];
    const text = [
      ...shown,
      ...notes.map((note) => wrapMessage(`note for ${to}: ${note}`, columns, '  ')),
      ...end,
    ].join('\n');
    const listFindings = () => findings.map((one) => reportable(one, values.cluster));
    return recordResult(data, { text, findings: listFindings }, isGood ? undefined : 'no');
  },
});

export const schema = defineCommand({
  path: ['kv', 'schema'],
  summary: 'Print the JSON Schema of cluster files for editors',
  run: async () => {
    const { clusterSchema } = await import('../../kv/upgrade/cluster/cluster-file.ts');
    return recordResult(clusterSchema(), { text: JSON.stringify(clusterSchema(), null, 2) });
  },
});

const initFlags = {
  ...addressFlags,
  out: {
    effects: ['writes'],
    field: str(undefined, { min: 1 }),
    summary: 'File to write (default: standard output)',
    value: 'file',
    complete: 'file',
  },
  name: {
    field: str(128, { pattern: namePattern }),
    summary: 'Name of the cluster',
    value: 'name',
  },
  driver: {
    field: oneOf(...driverKinds),
    summary: 'Driver that stops and starts members',
    value: 'driver',
    meanings: Object.fromEntries(driverRows.map(({ kind, summary }) => [kind, summary])),
  },
  'new-binary': {
    effects: ['reads', 'runs'],
    field: str(undefined, { min: 1 }),
    summary: 'Server binary of the target version',
    value: 'file',
    complete: 'file',
  },
  'old-binary': {
    effects: ['reads', 'runs'],
    field: str(undefined, { min: 1 }),
    summary: 'Server binary of the running version',
    value: 'file',
    complete: 'file',
  },
} as const satisfies Flags;

type Given = ValuesOf<typeof initFlags>;
const endpointsOf = async (context: Context, values: Given): Promise<string> => {
  if (values.endpoints !== undefined) return values.endpoints;
  if (!context.isInteractive)
    throw new AppError('usage', '--endpoints is required without a terminal', {
      tryThis: ['--endpoints HOST:PORT of a running member'],
    });
  return context.host.terminal.prompts.text('Client address of a running member (host:port):', {
    fallback: '127.0.0.1:2379',
  });
};
const report = ({ log }: Context, values: Given, { left, unseen, processes }: Draft): void => {
  for (const { member, process } of processes) log.info(`${member}: ${process}`);
  for (const line of left) log.warn(`fill in: ${line}`);
  if (values.driver === undefined && unseen.length > 0)
    log.warn(
      `no process of ${unseen.join(', ')} found on this machine; for members on other hosts use --driver ssh`,
    );
};
/** The version of the member at this URL; undefined without a response. */
const minorAt = async ({ access }: Opened, url: string | undefined): Promise<Minor | undefined> =>
  url === undefined
    ? undefined
    : access
        .store(url)
        .versions()
        .then(
          ({ server }) => minorOf(server),
          () => undefined,
        );
export const init = defineCommand({
  path: ['kv', 'init'],
  noDryRun: 'without --out the file is only printed',
  summary: 'Create a cluster file from a running cluster',
  about:
    'Reads the member list. For members on this machine, also writes their data directory, binary and command line, and marks values that it cannot determine. The file also contains certificate paths and the user name, but never a password.',
  flags: initFlags,
  examples: [
    {
      line: 'opsctl kv init --endpoints 127.0.0.1:2379 --new-binary ./etcd-3.4 --out cluster.yaml',
      says: 'Create a cluster file, then run kv check --cluster cluster.yaml',
    },
  ],
  run: async (context, values) => {
    const { host, settings } = context;
    const endpoints = await endpointsOf(context, values);
    const opened = await openCluster(context, { ...values, endpoints });
    const listed = await askAny(context, opened, (store) => store.members());
    const file = values.out === undefined ? undefined : resolve(host.cwd, values.out);
    const directory = file === undefined ? host.cwd : dirname(file);
    if (file !== undefined) await host.files.makeDirectory(directory);
    const { draftCluster, draftText } = await import('../../kv/upgrade/cluster/draft.ts');
    const draft = await draftCluster(host, listed, opened.cluster, {
      file,
      directory,
      name: values.name,
      driver: values.driver,
      newBinary: values['new-binary'],
      oldBinary: values['old-binary'],
      minorOf: ({ client_urls: [url] }) => minorAt(opened, url),
    });
    const { members, left, processes } = draft;
    report(context, values, draft);
    const text = await draftText(host, settings.directories.cache, draft);
    if (file === undefined) return rawResult(text);
    if ((await host.files.info(file)) !== undefined)
      await context.confirm(`${file} already exists. Replace it?`);
    await host.files.replace(file, text, 0o600);
    return recordResult(
      { cluster_file: file, members, processes, to_fill_in: left },
      {
        text: context.showAdvice(
          after(`wrote ${file}; next:`, ['kv', 'check', '--cluster', shellWord(values.out ?? file)]),
        ),
        name: 'cluster_file',
      },
    );
  },
});

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
/**
 * Returns the ctl program of the running version, for the next `kv restore`. A row of the table of versions names
 * its own program. Undefined: the file keeps its value.
 */
const findAdvancedCtl = async (
  context: Context,
  { cluster, written = cluster }: Opened,
  minor: string,
): Promise<string | undefined> => {
  const old = written.ctl_binary;
  if (old === undefined || written.versions?.[minor]?.ctl_binary !== undefined) return undefined;
  const [{ findCtlFor }, { ctlPrograms }, { shellsOf }] = await Promise.all([
    import('../../kv/upgrade/restore/plan.ts'),
    import('../../kv/upgrade/cluster/draft.ts'),
    import('../../kv/upgrade/supervisors/open.ts'),
  ]);
  const programs = ctlPrograms(
    cluster.members.flatMap(({ new_binary, binary_path }) => [new_binary, binary_path]),
  );
  const shells = await shellsOf(context.host, cluster, context.settings.directories.state);
  const found = await findCtlFor(cluster.members.map(shells), [old, ...programs], minor as Minor);
  if (found === undefined)
    context.log.warn(
      `ctl_binary ${old} is not a ctl program of ${minor} on every host: set ctl_binary: PATH of the ${minor} ctl program, because kv restore requires it`,
    );
  return found;
};
const advanceFile = async (context: Context, values: ValuesOf<typeof clusterFlags>): Promise<Result> => {
  const { host } = context;
  const opened = await openCluster(context, values, 'upgrade');
  const file = opened.file as string;
  const running = await withRunningPrograms(opened, true);
  const version = await needNewEverywhere(context, running);
  const { advanceText } = await import('../../kv/upgrade/cluster/yaml-file.ts');
  const before = (await host.files.read(file)) ?? '';
  const minor = minorOf(version) ?? version;
  const { text, changes } = await advanceText(before, minor, await findAdvancedCtl(context, running, minor));
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
    'Makes the new programs, commands and images of the cluster file the old ones, so that kv restart and the next upgrade start from the running version. If ctl_binary has another version, opsctl uses the ctl program next to the new binary. Keeps comments, and keeps the previous content next to the file. Refuses while a member does not run its new version, because a rollback still needs the old one.',
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
