import type { Minor } from '../../api-specs/etcd/versions.ts';
import { argvOf } from '../cluster/command-line.ts';
import { lintFile, lintFlags } from '../configuration/configuration.ts';
import { configPath } from '../supervisors/data-dir-stats.ts';
import type { MemberSeen, MemberSpec } from '../types.ts';
import { guard, type Log } from './guard.ts';

type MemberHost = MemberSeen['host'];

const checkFlags = (member: MemberSpec, to: Minor, log: Log): void => {
  const flags = argvOf(member.new_command, member.new_binary) ?? [];
  for (const { level, key, message, hint } of lintFlags(flags, to)) {
    log[level]({
      member: member.name,
      message: `${member.name}: ${key} ${message}`,
      hint: `in new_command: ${hint}`,
    });
  }
};

const checkReadable = (member: MemberSpec, host: MemberHost, log: Log): void => {
  if (host?.config_error !== undefined)
    log.fail({
      member: member.name,
      message: `${member.name}: ${host.config_error}`,
      hint: 'fix the configuration file',
    });
};

const checkDataDirectory = (member: MemberSpec, host: MemberHost, log: Log): void => {
  const directory = host?.config?.['data-dir'];
  if (typeof directory === 'string' && !directory.startsWith('/'))
    log.warn({
      member: member.name,
      message: `${member.name}: data-dir is ${directory}, which is found only when opsctl runs in the directory that the member was started from`,
      hint: `write the whole path${member.data_dir === undefined ? '' : `, ${member.data_dir}`}`,
    });
};

const checkFile = (member: MemberSpec, host: MemberHost, to: Minor, log: Log): void => {
  for (const { level, key, message, hint, isFixed } of host?.config === undefined
    ? []
    : lintFile(host.config, to)) {
    const isRewritten = isFixed === true && member.config_file !== undefined;
    if (isRewritten)
      log.warn({
        member: member.name,
        message: `${member.name}: ${key} ${message}`,
        hint: `the plan rewrites it: ${hint}`,
      });
    else
      log[level]({
        member: member.name,
        message: `${member.name}: ${key} ${message}`,
        // Not `config migrate` first: the running version could not start with that file any more.
        hint:
          isFixed === true
            ? `name it in the cluster file (config_file: ${configPath(member) ?? 'PATH'}): then the plan rewrites it between stop and start`
            : hint,
      });
  }
};

/** spec/store#measured-configuration: one configuration file cannot serve two versions when it sets the retention; the server exits at its start. */
export const configurationFits = guard(
  'configuration-fits',
  'the new version understands the configuration',
  ({ observation, cluster, to }, log) => {
    if (to === undefined) return;
    const isLocal = (cluster.driver ?? 'local') === 'local';
    for (const member of cluster.members) {
      const host = observation.members.find(({ name }) => name === member.name)?.host;
      checkFlags(member, to, log);
      checkReadable(member, host, log);
      if (isLocal) checkDataDirectory(member, host, log);
      checkFile(member, host, to, log);
    }
  },
);
