import { int, oneOf, str } from '../../../core/field.ts';
import { AppError } from '../../../core/problem.ts';
import { recordResult } from '../../../core/result.ts';
import { defaultMs, type Fault, faultFile, faultKinds, readFaults } from '../../../etcd-sim/faults.ts';
import {
  type Rehearsal,
  type RehearsalMember,
  faultsDirectory,
  passwordFile,
} from '../../../etcd-sim/cluster/layout.ts';
import { formOf, simulatedMinors } from '../../../etcd-sim/forms.ts';
import {
  defineCommand,
  type Argument,
  type Context,
  type Flags,
  type ValuesOf,
} from '../../../cli/command.ts';
import { chosen, dirFlag, rehearsalIn } from './directory.ts';

const kinds = [...(Object.keys(faultKinds) as Fault['kind'][]), 'nospace', 'corrupt', 'clear'] as const;

const times = (Object.keys(faultKinds) as Fault['kind'][])
  .flatMap((kind) => (defaultMs(kind) === undefined ? [] : [`${defaultMs(kind)} for ${kind}`]))
  .join(', ');
const flags = {
  dir: dirFlag,
  member: {
    field: str(),
    summary: 'The member that fails (default all)',
    value: 'name',
    complete: 'kv-member',
  },
  ms: {
    field: int({ min: 0 }),
    summary: `Time of the fault (default ${times})`,
    value: 'ms',
  },
  'only-version': {
    field: str(undefined, { pattern: '^3\\.\\d+$' }),
    summary: 'Only while the member runs this version, for example the old one after a rollback',
    value: '3.x',
    suggest: simulatedMinors,
  },
} as const satisfies Flags;
const args = [
  { name: 'kind', field: oneOf(...kinds), summary: 'What goes wrong' },
] as const satisfies readonly Argument[];
type Given = ValuesOf<typeof flags, typeof args>;

const isAlarm = (kind: string): kind is 'nospace' | 'corrupt' => kind === 'nospace' || kind === 'corrupt';

/** Raises the alarm in the store itself, or with `clear` takes all alarms back. */
const alarm = async (
  { host }: Context,
  rehearsal: Rehearsal,
  member: RehearsalMember,
  action: string,
  kind: string,
): Promise<void> => {
  const { ask } = await import('../../../etcd-sim/cluster/processes.ts');
  const version = (await ask<Record<string, string>>(host, `${member.clientUrl}/version`))?.data[
    `${rehearsal.options.word}server`
  ];
  const prefix = formOf(version ?? rehearsal.options.version)?.prefixes[0] ?? '';
  const self = await ask<{ id?: string }>(host, `${member.peerUrl}/simulation/state`);
  const memberID = BigInt(`0x${self?.data.id ?? '0'}`).toString();
  const headers: Record<string, string> = {};
  if (rehearsal.options.auth) {
    const password = ((await host.files.read(passwordFile(rehearsal.directory))) ?? '').trim();
    const token = await ask<{ token?: string }>(host, `${member.clientUrl}${prefix}/auth/authenticate`, {
      name: 'root',
      password,
    });
    headers['grpc-metadata-token'] = token?.data.token ?? '';
  }
  const answer = await ask(
    host,
    `${member.clientUrl}${prefix}/maintenance/alarm`,
    { action, memberID, alarm: kind.toUpperCase() },
    headers,
  );
  if (answer?.status !== 200)
    throw new AppError('refused', `${member.name} did not take the alarm`, { code: 'ALARM_NOT_SET' });
};

const change = async (
  context: Context,
  rehearsal: Rehearsal,
  member: RehearsalMember,
  next: (before: Fault[]) => Fault[],
): Promise<void> => {
  const { ask } = await import('../../../etcd-sim/cluster/processes.ts');
  const path = faultFile(faultsDirectory(rehearsal.directory), member.name);
  await context.host.files.replace(path, JSON.stringify(next(await readFaults(context.host, path))));
  await ask(context.host, `${member.peerUrl}/simulation/faults`, {});
};

const apply = async (
  context: Context,
  rehearsal: Rehearsal,
  member: RehearsalMember,
  values: Given,
): Promise<void> => {
  if (isAlarm(values.kind)) return alarm(context, rehearsal, member, 'ACTIVATE', values.kind);
  if (values.kind !== 'clear') {
    const ms = values.ms ?? defaultMs(values.kind);
    const fault: Fault = {
      kind: values.kind,
      ...(ms === undefined ? {} : { ms }),
      ...(values['only-version'] === undefined ? {} : { version: values['only-version'] }),
    };
    return change(context, rehearsal, member, (before) => [
      ...before.filter((one) => one.kind !== fault.kind || one.version !== fault.version),
      fault,
    ]);
  }
  await change(context, rehearsal, member, () => []);
  const { pidOf } = await import('../../../etcd-sim/cluster/processes.ts');
  if (pidOf(context.host, member) === undefined) return;
  for (const kind of ['nospace', 'corrupt']) await alarm(context, rehearsal, member, 'DEACTIVATE', kind);
};

const list = Object.entries(faultKinds).map(([kind, { says }]) => `${kind}: ${says}`);
export const fault = defineCommand({
  path: ['mock', 'kv', 'fault'],
  noDryRun: 'opsctl mock kv status',
  summary: 'Make a simulated member fail in a chosen way',
  about: [
    ...list,
    'nospace, corrupt: raises that alarm',
    'clear: takes all faults and alarms of the member back',
  ].join('\n'),
  args,
  flags,
  examples: [
    {
      line: 'opsctl mock kv fault crash-at-start --member n2 --only-version 3.3',
      says: 'the new binary of n2 crashes when it starts',
    },
  ],
  async run(context, values) {
    const rehearsal = await rehearsalIn(context, values);
    const members = chosen(rehearsal, values.member);
    for (const member of members) await apply(context, rehearsal, member, values);
    const names = members.map((member) => member.name);
    return recordResult(
      { kind: values.kind, members: names },
      { text: `${values.kind} on ${names.join(', ')}`, name: 'kind' },
    );
  },
});
