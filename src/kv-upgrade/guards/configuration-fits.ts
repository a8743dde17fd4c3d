import { argvOf } from '../cluster/command-line.ts';
import { lintFile, lintFlags } from '../configuration/configuration.ts';
import { configPath } from '../supervisors/data-dir-stats.ts';
import { guard } from './guard.ts';

/** spec/store#measured-configuration: one configuration file cannot serve two versions when it sets the retention; the server exits at its start. */
export const configurationFits = guard(
  'configuration-fits',
  'the new version understands the configuration',
  ({ observation, cluster, to }, log) => {
    if (to === undefined) return;
    for (const member of cluster.members) {
      const host = observation.members.find(({ name }) => name === member.name)?.host;
      for (const { level, key, message, hint } of lintFlags(
        argvOf(member.new_command, member.new_binary) ?? [],
        to,
      )) {
        log[level]({
          member: member.name,
          message: `${member.name}: ${key} ${message}`,
          hint: `in new_command: ${hint}`,
        });
      }
      if (host?.config_error !== undefined)
        log.fail({
          member: member.name,
          message: `${member.name}: ${host.config_error}`,
          hint: 'fix the configuration file',
        });
      const directory = host?.config?.['data-dir'];
      if (
        (cluster.driver ?? 'local') === 'local' &&
        typeof directory === 'string' &&
        !directory.startsWith('/')
      )
        log.warn({
          member: member.name,
          message: `${member.name}: data-dir is ${directory}, which is found only when opsctl runs in the directory that the member was started from`,
          hint: `write the whole path${member.data_dir === undefined ? '' : `, ${member.data_dir}`}`,
        });
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
    }
  },
);
