import { defineCommand, type Command, type Context } from '../cli/command.ts';
import { AppError } from '../core/problem.ts';
import { recordResult } from '../core/result.ts';

const PACKAGE = 'opsctl';
const LOOK_MS = 30_000;

/** The newest version that the machine's own npm finds, in the registry that it is set up for. Asked only with --check. */
const latestVersion = async ({ host, signal }: Context): Promise<string> => {
  const found = await host.processes.run('npm', ['view', PACKAGE, 'version'], { timeoutMs: LOOK_MS, signal });
  const latest = found.stdout.trim();
  if (found.code === 0 && /^\d+\.\d+\.\d+[\w.+-]{0,50}$/.test(latest)) return latest;
  const reason =
    found.startError ??
    (found.timedOut
      ? 'it did not answer within 30 s'
      : (found.stderr.split('\n').find((line) => /\bE\d{3}\b|ENOT|ECONN/.test(line)) ??
        `it ended with ${found.code}`));
  throw new AppError('network', `npm could not say which version is the newest: ${reason.trim()}`, {
    code: 'VERSION_UNKNOWN',
    tryThis: [`npm view ${PACKAGE} version`],
  });
};

const version = defineCommand({
  path: ['version'],
  summary: 'Show the version, and with --check whether there is a newer one',
  about:
    'Nothing is looked up unless --check is given: then npm is asked for the newest version, in the registry that it is set up for. Ends with 20 when there is a newer one.',
  flags: { check: { effects: [], field: { type: 'boolean' }, summary: 'Ask npm for the newest version' } },
  examples: [
    { line: 'opsctl version', says: 'Version, runtime and platform' },
    { line: 'opsctl version -o json', says: 'For a bug report' },
  ],
  run: async (context, { check: isAsked }) => {
    const { runtime, platform } = context.host;
    const own = { version: OPSCTL_VERSION, runtime, platform };
    const text = `opsctl ${OPSCTL_VERSION} (${runtime}, ${platform})`;
    if (isAsked !== true) return recordResult(own, { text });
    const latest = await latestVersion(context);
    const isCurrent = latest === OPSCTL_VERSION;
    const said = isCurrent ? `${text}: the newest` : `${text}; the newest is ${latest}`;
    return recordResult(
      { ...own, latest, is_current: isCurrent },
      { text: said },
      isCurrent ? undefined : 'no',
    );
  },
});

export const commands: readonly Command[] = [version];
