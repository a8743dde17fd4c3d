import { type Result, recordResult } from '../../core/result.ts';
import type { Rehearsal } from './layout.ts';

/** What was started, and how to go on. */
export const startedRehearsal = (rehearsal: Rehearsal): Result => {
  const { directory, members, options } = rehearsal;
  const file = `${directory}/cluster.yaml`;
  const data = {
    simulated: true,
    dir: directory,
    cluster_file: file,
    version: options.version,
    new_version: options.newVersion,
    members: members.map((member) => ({
      name: member.name,
      client_url: member.clientUrl,
      peer_url: member.peerUrl,
      data_dir: member.dataDir,
      pid_file: member.pidFile,
      log_file: member.logFile,
    })),
    endpoints: members.map((member) => member.clientUrl),
  };
  const text = [
    `${members.length} simulated members of version ${options.version} run. This is a rehearsal, not a database.`,
    ...members.map(({ name, clientUrl }) => `  ${name}  ${clientUrl}`),
    `Next: opsctl kv check --cluster ${file}`,
    `      opsctl kv upgrade --cluster ${file}`,
    `End:  opsctl mock kv stop --dir ${directory}`,
  ].join('\n');
  return recordResult(data, { text, name: 'cluster_file' });
};
