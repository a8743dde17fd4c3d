import type { Context } from '../../api/context.ts';
import { type Command, defineCommand } from '../../cli/command.ts';
import { bool, int, list, oneOf, str } from '../../core/field.ts';
import type { Argument, Flag, Flags } from '../../core/flag.ts';
import { nothing, rawResult, recordResult, rowsResult } from '../../core/result.ts';
import { lossyText } from '../../core/text.ts';
import type { Rehearsal, RehearsalMember } from '../../etcd-sim/cluster/layout.ts';
import type { SimulatedState } from '../../etcd-sim/disk/db-file.ts';
import { defaultMs, type Fault, faultKinds, simulatedMinors } from '../../etcd-sim/forms.ts';
import { chooseMembers, dirFlag, memberFlag, rehearsalIn, simulatedVersion, start } from './kv-start.ts';

const rowOf = async ({ host }: Context, rehearsal: Rehearsal, member: RehearsalMember) => {
  const { callMember, pidOf } = await import('../../etcd-sim/cluster/layout.ts');
  const { faultFile, readFaults } = await import('../../etcd-sim/forms.ts');
  const { faultsDirectory } = await import('../../etcd-sim/cluster/layout.ts');
  const pid = pidOf(host, member);
  const [version, health, self, faults] = await Promise.all([
    callMember<Record<string, string>>(host, `${member.clientUrl}/version`),
    callMember<{ health?: string }>(host, `${member.clientUrl}/health`),
    callMember<{ leader?: string; id?: string }>(host, `${member.peerUrl}/simulation/state`),
    readFaults(host, faultFile(faultsDirectory(rehearsal.directory), member.name)),
  ]);
  const { word } = rehearsal.options;
  return {
    name: member.name,
    pid: pid ?? null,
    version: version?.data[`${word}server`] ?? null,
    cluster_version: version?.data[`${word}cluster`] ?? null,
    is_healthy: health?.data.health === 'true',
    is_leader: self !== undefined && self.data.leader === self.data.id,
    faults: faults.map((fault) =>
      [
        fault.kind,
        ...(fault.ms === undefined ? [] : [`${fault.ms} ms`]),
        ...(fault.version === undefined ? [] : [`only ${fault.version}`]),
      ].join(' '),
    ),
    client_url: member.clientUrl,
    log_file: member.logFile,
  };
};
const status = defineCommand({
  path: ['mock', 'kv', 'status'],
  summary: 'Show the members of a simulated cluster',
  flags: { dir: dirFlag },
  async run(context, values) {
    const rehearsal = await rehearsalIn(context, values);
    const rows = await Promise.all(rehearsal.members.map((member) => rowOf(context, rehearsal, member)));
    const columns = [
      'name',
      'pid',
      'version',
      'cluster_version',
      'is_healthy',
      'is_leader',
      'faults',
      'client_url',
    ];
    return rowsResult(rows, { columns, name: 'name' });
  },
});

const kinds = [...(Object.keys(faultKinds) as Fault['kind'][]), 'nospace', 'corrupt', 'clear'] as const;
const meanings = {
  ...Object.fromEntries(Object.entries(faultKinds).map(([kind, { says }]) => [kind, says])),
  nospace: 'raises the alarm NOSPACE',
  corrupt: 'raises the alarm CORRUPT',
  clear: 'removes all faults and alarms of the member',
};
const times = (Object.keys(faultKinds) as Fault['kind'][])
  .flatMap((kind) => (defaultMs(kind) === undefined ? [] : [`${defaultMs(kind)} for ${kind}`]))
  .join(', ');
const faultFlags = {
  dir: dirFlag,
  member: {
    field: str(),
    summary: 'Member that fails (default all)',
    value: 'name',
    complete: 'kv-member',
  },
  ms: {
    field: int({ min: 0 }),
    summary: `Duration of the fault (default ${times})`,
    value: 'ms',
  },
  'only-version': {
    field: str(undefined, { pattern: '^3\\.\\d+$' }),
    summary: 'Only while the member runs this version, for example the old version after a rollback',
    value: '3.x',
    suggest: simulatedMinors,
  },
} as const satisfies Flags;
const faultArgs = [
  { name: 'kind', field: oneOf(...kinds), summary: 'Type of the fault', meanings },
] as const satisfies readonly Argument[];

const faultList = Object.entries(faultKinds).map(([kind, { says }]) => `${kind}: ${says}`);
const fault = defineCommand({
  path: ['mock', 'kv', 'fault'],
  noDryRun: 'opsctl mock kv status',
  summary: 'Inject a fault into a simulated member',
  about: [
    ...faultList,
    'nospace, corrupt: raises that alarm',
    'clear: removes all faults and alarms of the member',
  ].join('\n'),
  args: faultArgs,
  flags: faultFlags,
  examples: [
    {
      line: 'opsctl mock kv fault crash-at-start --member n2 --only-version 3.3',
      says: 'Let the new binary of n2 crash at the start',
    },
  ],
  async run(context, values) {
    const rehearsal = await rehearsalIn(context, values);
    const members = chooseMembers(rehearsal, values.member);
    const { setFault } = await import('../../etcd-sim/cluster/start.ts');
    for (const member of members) await setFault(context.host, rehearsal, member, values);
    const names = members.map((member) => member.name);
    return recordResult(
      { kind: values.kind, members: names },
      {
        text:
          values.kind === 'clear'
            ? `no faults on ${names.join(', ')}`
            : `${values.kind} on ${names.join(', ')}`,
        name: 'kind',
      },
    );
  },
});

const log = defineCommand({
  path: ['mock', 'kv', 'log'],
  summary: 'Show the logs of simulated members',
  flags: {
    dir: dirFlag,
    member: memberFlag,
    lines: { field: int({ min: 1 }), summary: 'Number of lines from the end (default 100)', value: 'n' },
  },
  async run(context, values) {
    const rehearsal = await rehearsalIn(context, values);
    const members = chooseMembers(rehearsal, values.member);
    const last = values.lines ?? 100;
    const texts = await Promise.all(
      members.map(async (member) => {
        const lines = lossyText(await context.host.files.readBytes(member.logFile))
          .split('\n')
          .filter((line) => line !== '');
        const prefix = members.length > 1 ? `${member.name}  ` : '';
        return lines.slice(-last).map((line) => `${prefix}${line}\n`);
      }),
    );
    return rawResult(...texts.flat());
  },
});

const binaryVersionFlag = {
  effects: [],
  field: simulatedVersion,
  summary: 'Version to simulate',
  required: true,
} as const satisfies Flag;
/** The process of one simulated member. The generated binaries start it; its arguments are those of a real server. */
const member = defineCommand({
  path: ['mock', 'kv', 'member'],
  noDryRun: 'opsctl mock kv start --help',
  summary: 'Run one simulated member',
  hidden: true,
  args: [
    {
      name: 'server-flags',
      effects: ['reads', 'runs'],
      field: list(str()),
      summary: 'Server flags, after --',
      optional: true,
      rest: true,
      allowsEmpty: true,
    },
  ],
  flags: {
    'binary-version': binaryVersionFlag,
    'field-words': { field: oneOf('kv', 'etcd'), summary: 'Product name in fields and logs' },
    'monitor-ms': { field: int({ min: 50 }), summary: 'Interval of version comparisons' },
    faults: { effects: ['reads'], field: str(), summary: 'Directory with the faults of each member' },
    records: {
      effects: ['writes'],
      field: str(),
      summary: 'Directory in which each member records its version',
    },
  },
  async run({ host }, values) {
    const { runMember } = await import('../../etcd-sim/member/run.ts');
    const { faultFile } = await import('../../etcd-sim/forms.ts');
    const { versionFile } = await import('../../etcd-sim/cluster/layout.ts');
    const { faults, records } = values;
    const code = await runMember(host, {
      version: values['binary-version'],
      word: values['field-words'] ?? 'kv',
      monitorMs: values['monitor-ms'] ?? 5_000,
      serverArgs: values['server-flags'] ?? [],
      ...(faults === undefined ? {} : { faultFile: (name: string) => faultFile(faults, name) }),
      ...(records === undefined ? {} : { versionFile: (name: string) => versionFile(records, name) }),
    });
    // Connections of clients that are kept alive must not keep the process.
    host.exit(code);
    return nothing();
  },
});

/** The ctl program of the simulated cluster. Its arguments are those of the real program. */
const ctl = defineCommand({
  path: ['mock', 'kv', 'ctl'],
  noDryRun: 'opsctl kv restore --dry-run',
  summary: 'Run the ctl program of a simulated cluster',
  hidden: true,
  args: [
    {
      name: 'words',
      effects: ['reads', 'writes'],
      field: list(str()),
      summary: 'Words of the ctl program, after --',
      optional: true,
      rest: true,
    },
  ],
  flags: {
    'binary-version': binaryVersionFlag,
  },
  async run({ host }, values) {
    const [{ readCtlWords, restoreDirectory }, { stateKey }, { bucketRecords, snapshotHistory }, snapshots] =
      await Promise.all([
        import('../../etcd-sim/cluster/ctl.ts'),
        import('../../etcd-sim/disk/db-file.ts'),
        import('../../kv/client/snapshot-content.ts'),
        import('../../kv/client/snapshot.ts'),
      ]);
    const words = readCtlWords(values.words ?? [], values['binary-version']);
    await (words.skipsHash ? snapshots.hashWithoutChecksum : snapshots.verifySnapshot)(host, words.snapshot);
    const content = snapshots.withSnapshot(host.files, words.snapshot, (file) => ({
      ...snapshotHistory(file),
      // A snapshot of a real member has no such record.
      state: [...bucketRecords(file, 'meta')]
        .find(({ key }) => key.toString() === stateKey)
        ?.value.toString(),
    }));
    const state = content.state === undefined ? undefined : (JSON.parse(content.state) as SimulatedState);
    await restoreDirectory(host, words, content, state);
    return nothing();
  },
});

const stop = defineCommand({
  path: ['mock', 'kv', 'stop'],
  noDryRun: 'opsctl mock kv status',
  summary: 'Stop a simulated cluster or one member',
  flags: {
    dir: dirFlag,
    member: memberFlag,
    kill: { field: bool(), summary: 'Kill immediately instead of stopping gracefully' },
    remove: { field: bool(), summary: 'Also remove the directory' },
  },
  async run(context, values) {
    const { pidOf, stopProcess } = await import('../../etcd-sim/cluster/layout.ts');
    const rehearsal = await rehearsalIn(context, values);
    const members = chooseMembers(rehearsal, values.member);
    const stopped = await Promise.all(
      members.map(async (member) => {
        const pid = values.kill ? pidOf(context.host, member) : undefined;
        if (pid !== undefined) context.host.processes.signal(pid, 'SIGKILL');
        const how = await stopProcess(context.host, member);
        return { name: member.name, result: pid === undefined ? how : 'killed' };
      }),
    );
    if (values.remove && values.member === undefined) await context.host.files.remove(rehearsal.directory);
    const message = stopped.map(({ name, result }) => `${name} ${result}`).join(', ');
    return recordResult(
      { dir: rehearsal.directory, members: stopped },
      { text: message, isProse: true, name: 'dir' },
    );
  },
});

export const commands: readonly Command[] = [start, stop, status, fault, log, member, ctl];
