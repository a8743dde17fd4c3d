import { resolve } from 'node:path';
import type { Minor } from '../../api-specs/etcd/versions.ts';
import { argvOf } from '../cluster/command-line.ts';
import { flagsOf, lintFile, lintFlags } from '../configuration/configuration.ts';
import { lintEnvironment } from '../configuration/environment.ts';
import { configPath } from '../supervisors/data-dir-stats.ts';
import type { MemberSeen, MemberSpec } from '../types.ts';
import { guard, sees, type Log } from './guard.ts';

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
  for (const { level, key, message, hint } of lintEnvironment(member.env ?? {}, flagsOf(flags), to))
    log[level]({
      member: member.name,
      message: `${member.name}: ${key} ${message}`,
      hint: `in env: ${hint}`,
    });
};

const checkReadable = (member: MemberSpec, host: MemberHost, log: Log): void => {
  if (host?.config_error !== undefined)
    log.fail({
      member: member.name,
      message: `${member.name}: ${host.config_error}`,
      hint: 'fix the configuration file',
    });
};

/** A relative directory counts from where the process runs, and its successor runs there too. Anywhere else it would be another one, and empty. */
const checkDataDirectory = (member: MemberSpec, host: MemberHost, log: Log): void => {
  const directory = host?.config?.['data-dir'];
  if (typeof directory !== 'string' || directory.startsWith('/')) return;
  const where = host?.working_directory;
  const found = where === undefined ? undefined : resolve(where, directory);
  if (found !== undefined && (found === member.data_dir || found === host?.real_data_dir)) return;
  const why =
    found === undefined
      ? 'which is relative, and no process of it runs that would say to what'
      : `which is ${found} from where it runs; data_dir is ${member.data_dir}`;
  log.fail({
    member: member.name,
    message: `${member.name}: data-dir is ${directory} in its configuration file, ${why}`,
    hint: `write the whole path there${member.data_dir === undefined ? '' : `, ${member.data_dir}`}`,
  });
};

const checkFile = (member: MemberSpec, host: MemberHost, to: Minor, log: Log): void => {
  for (const { level, key, message, hint, isFixed, isLater } of host?.config === undefined
    ? []
    : lintFile(host.config, to)) {
    const isRewritten = isFixed === true && isLater !== true && member.config_file !== undefined;
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
          isFixed === true && isLater !== true
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
    const isLocal = [cluster.driver ?? 'local', cluster.ssh?.then ?? 'local'].every(
      (one) => one === 'local' || one === 'ssh',
    );
    for (const member of cluster.members) {
      const host = observation.members.find(({ name }) => name === member.name)?.host;
      checkFlags(member, to, log);
      checkReadable(member, host, log);
      if (isLocal) checkDataDirectory(member, host, log);
      checkFile(member, host, to, log);
    }
  },
  sees.host,
);
