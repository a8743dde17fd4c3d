import { AppError } from '../../core/problem.ts';
import { misfit } from '../../core/shape.ts';
import type { Host } from '../../platform/host.ts';
import { demo } from '../../api-specs/oauth/demo.ts';
import { labelsToken } from '../../mock-server/defaults.ts';
import type { Live } from '../../mock-server/instance-lock.ts';
import type { RunningMock } from '../../mock-server/server.ts';
import { authPaths } from '../../api-specs/oauth/endpoints.ts';

/** The line that `mock serve -o json` prints once it accepts connections (spec/program#mock-server). */
export type Ready = {
  readonly ready: true;
  readonly pid: number;
  readonly tracker: {
    readonly base_url: string;
    readonly token: string;
    /** Only where no rate limit is enforced: clients need not keep to one then. */
    readonly rate_limit?: 'off';
  };
  readonly labels: { readonly base_url: string; readonly token: string };
  readonly auth: {
    readonly authorization_endpoint: string;
    readonly token_endpoint: string;
    readonly revocation_endpoint: string;
    readonly client_id: string;
  };
  readonly media: { readonly base_url: string };
  readonly url: string;
  /** Only with --tls: the certificate that clients have to trust. */
  readonly ca_file?: string;
};

const shape = {
  tracker: { base_url: 'text', token: 'text' },
  labels: { base_url: 'text', token: 'text' },
  auth: {
    authorization_endpoint: 'text',
    token_endpoint: 'text',
    revocation_endpoint: 'text',
    client_id: 'text',
  },
  media: { base_url: 'text' },
  url: 'text',
  ca_file: 'text?',
} as const;
/** That line as a server left it for other commands. */
export const readyIn = ({ url, ready }: Live): Ready => {
  const wrong = misfit(ready, shape);
  if (wrong === undefined) return ready as Ready;
  throw new AppError('config', `owner.json of the mock server at ${url} is damaged: ${wrong}`, {
    code: 'FILE_DAMAGED',
    tryThis: ['opsctl mock stop, and start it again'],
  });
};

/** With `--labels-auth oauth` a token comes from a sign-in, so the line has none. */
export const readyOf = (host: Host, mock: RunningMock, caFile: string | undefined): Ready => {
  const { origin, env } = mock;
  return {
    ready: true,
    pid: host.pid,
    tracker: {
      base_url: origin,
      token: env.options.trackerToken,
      ...(env.options.ratePerMinute === undefined ? { rate_limit: 'off' } : {}),
    },
    labels: { base_url: origin, token: env.options.labelsAuth === 'any' ? labelsToken : '' },
    auth: {
      authorization_endpoint: origin + authPaths.authorize,
      token_endpoint: origin + authPaths.token,
      revocation_endpoint: origin + authPaths.revoke,
      client_id: demo.clients.desktop,
    },
    media: { base_url: origin },
    url: origin,
    ...(caFile === undefined ? {} : { ca_file: caFile }),
  };
};
