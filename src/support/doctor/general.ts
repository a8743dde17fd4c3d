import type { Context } from '../../cli/command.ts';
import type { Finding } from './finding.ts';
import { browserless, directoryFinding, proxyFinding } from './machine.ts';
import { serviceFinding } from './service.ts';

/** The machine, the settings and whether each service answers. */
export const generalFindings = async (context: Context): Promise<readonly Finding[]> => {
  const { name, origin } = context.settings.profile;
  return [
    { check: 'opsctl', state: 'pass', found: OPSCTL_VERSION },
    {
      check: 'runtime',
      state: 'pass',
      found: `${context.host.runtime} on ${context.host.platform}`,
    },
    { check: 'profile', state: 'pass', found: `${name} (${origin})` },
    ...(await Promise.all([
      directoryFinding(context, 'config'),
      directoryFinding(context, 'state'),
      directoryFinding(context, 'cache'),
    ])),
    proxyFinding(context),
    browserless(context),
    ...(await Promise.all([
      serviceFinding(context, 'tracker', '/api/v3/member'),
      serviceFinding(context, 'labels', '/v2beta/limits/label'),
    ])),
  ];
};
