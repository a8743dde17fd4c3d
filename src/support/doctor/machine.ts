import { messageOf } from '../../core/error-message.ts';
import type { Context } from '../../cli/command.ts';
import type { Finding } from './finding.ts';

export const directoryFinding = async (
  context: Context,
  name: 'config' | 'state' | 'cache',
): Promise<Finding> => {
  const path = context.settings.directories[name];
  const { files } = context.host;
  try {
    await files.makeDirectory(path, 0o700);
    if (await files.isWritable(path)) {
      if ((await files.freeBytes(path)) > 0)
        return { check: `${name} directory`, state: 'pass', found: path };
      return {
        check: `${name} directory`,
        state: 'fail',
        found: `${path}: the disk is full`,
        remedy: 'make room there, or set OPSCTL_HOME to a directory on another disk',
      };
    }
    return {
      check: `${name} directory`,
      state: 'fail',
      found: `${path} cannot be written`,
      remedy: `give yourself write access, or set OPSCTL_HOME`,
    };
  } catch (error) {
    return {
      check: `${name} directory`,
      state: 'fail',
      found: `${path}: ${messageOf(error)}`,
      remedy: 'set OPSCTL_HOME to a directory of yours',
    };
  }
};

export const proxyFinding = ({ host }: Context): Finding => {
  const set = ['HTTPS_PROXY', 'HTTP_PROXY', 'https_proxy', 'http_proxy', 'NO_PROXY', 'no_proxy'].filter(
    (name) => host.env[name],
  );
  return { check: 'proxy', state: 'pass', found: set.length === 0 ? 'none' : set.join(', ') };
};

export const browserless = ({ host }: Context): Finding => ({
  check: 'terminal',
  state: 'pass',
  found: `stdin ${host.terminal.stdin.isTty ? 'terminal' : 'pipe'}, stdout ${host.terminal.stdout.isTty ? 'terminal' : 'pipe'}, stderr ${host.terminal.stderr.isTty ? 'terminal' : 'pipe'}`,
});
