import { minorOf, rowOf, type Minor } from '../../../api-specs/etcd/versions.ts';
import { namesProgram } from '../plan-kind.ts';
import type { HostFacts, MemberSpec, PlanKind } from '../../engine/types.ts';
import { guard, sees, type Log } from './guard.ts';
import { hintForHost } from './unreachable.ts';

/** Two programs of one minor need two places: the drop-in of a unit is named after the minor, and the one before it would be lost. */
const losesItsDropIn = (
  kind: PlanKind | undefined,
  { unit, binary_path, new_binary, old_binary }: MemberSpec,
): boolean =>
  kind === 'restart' &&
  unit !== undefined &&
  binary_path === undefined &&
  new_binary !== undefined &&
  new_binary !== old_binary;

const lostDropIn = ({ name, unit }: MemberSpec) => ({
  member: name,
  message: `${name}: ${unit} is given its program by a drop-in, which another program of the same minor would replace: no rollback could bring it back`,
  hint: 'binary_path: PATH of the program that the unit starts; or --keep-program for a new configuration alone',
});

type Old = {
  readonly name: string;
  readonly runs: string | undefined;
  readonly old: string | undefined;
  readonly from: Minor | undefined;
};
/** What a failed start would be taken back to. */
const lookAtOld = ({ name, runs, old, from }: Old, log: Log): void => {
  const hint = 'check old_binary in the cluster file';
  if (old === undefined)
    log.warn({
      member: name,
      message: `${name}: the old binary cannot be asked for its version: a failed start could not be taken back`,
      hint,
    });
  else if (runs !== undefined && minorOf(runs) === from && minorOf(old) !== from)
    log.fail({
      member: name,
      message: `${name}: the old binary is ${old}, but the member runs ${runs}: a failed start could not be taken back`,
      hint,
    });
};

/** A restart changes the program of those members only that name one. */
const keepsItsProgram = (kind: PlanKind | undefined, spec: MemberSpec | undefined): boolean =>
  kind === 'restart' && spec !== undefined && !namesProgram(spec);

const unknownVersion = (member: string, host: HostFacts, spec: MemberSpec | undefined) => ({
  member,
  message: `${member}: the new binary cannot be asked for its version: ${host.new_binary_error ?? 'unknown'}`,
  hint: hintForHost(host, spec, 'check new_binary in the cluster file'),
});
const otherVersion = (member: string, version: string, to: Minor, kind: PlanKind = 'upgrade') => ({
  member,
  message: `${member}: the new binary is ${version}, the ${kind} goes to ${to}`,
  hint:
    kind === 'restart'
      ? '--keep-program starts the program that runs, with what is new in its configuration'
      : `put a ${to} binary there; nothing was stopped`,
});

/** What the new binary says of itself, on every host, before anything is stopped. */
export const binariesAreRight = guard(
  'binaries-are-right',
  'the new binary of every member says the right version',
  ({ observation, cluster, from, to, kind }, log) => {
    const right: string[] = [];
    for (const { name, host, server_version } of observation.members) {
      const spec = cluster.members.find((one) => one.name === name);
      if (host === undefined || keepsItsProgram(kind, spec)) continue;
      if (spec !== undefined && losesItsDropIn(kind, spec)) log.fail(lostDropIn(spec));
      const { new_binary_version: version, old_binary_version: old } = host;
      if (version === undefined) log.fail(unknownVersion(name, host, spec));
      // No binary is right for a version that is not known: version-path says so.
      else if (rowOf(to) !== undefined && to !== undefined && minorOf(version) !== to)
        log.fail(otherVersion(name, version, to, kind));
      else right.push(version);
      lookAtOld({ name, runs: server_version, old, from }, log);
    }
    const different = [...new Set(right)];
    if (different.length > 1) log.warn({ message: `the new binaries differ: ${different.join(', ')}` });
  },
  sees.host,
);
