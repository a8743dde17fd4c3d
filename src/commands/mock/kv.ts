import { rowsResult } from '../../core/result.ts';
import type { Rehearsal, RehearsalMember } from '../../etcd-sim/cluster/layout.ts';
import { defineCommand, type Context } from '../../cli/command.ts';
import { dirFlag, rehearsalIn } from './directory.ts';

const rowOf = async ({ host }: Context, rehearsal: Rehearsal, member: RehearsalMember) => {
  const { ask, pidOf } = await import('../../etcd-sim/cluster/processes.ts');
  const { faultFile, readFaults } = await import('../../etcd-sim/faults.ts');
  const { faultsDirectory } = await import('../../etcd-sim/cluster/layout.ts');
  const pid = pidOf(host, member);
  const [version, health, self, faults] = await Promise.all([
    ask<Record<string, string>>(host, `${member.clientUrl}/version`),
    ask<{ health?: string }>(host, `${member.clientUrl}/health`),
    ask<{ leader?: string; id?: string }>(host, `${member.peerUrl}/simulation/state`),
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

export const status = defineCommand({
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
