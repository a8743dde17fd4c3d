import { parseDuration } from '../../core/duration.ts';
import type { Result } from '../../core/result.ts';
import type { Row } from '../../auth/conformance/check.ts';
import { grantRows } from '../../auth/conformance/grant.ts';
import { probeFor, sender } from '../../auth/probe.ts';
import { allChecks, rowOf } from '../../auth/conformance/run.ts';
import { showAddress } from '../../auth/flow.ts';
import { scopesFrom } from '../../auth/scopes.ts';
import { type LoginServer, loginServer } from '../../auth/settings.ts';
import { walkConsent } from '../../auth/demo/scripted-consent.ts';
import { discover } from '../../auth/protocol/discovery.ts';
import { fullScope } from '../../api-specs/oauth/scopes.ts';
import type { Context } from '../../cli/command.ts';
import { givenServer } from '../../auth/login/server.ts';
import type { ConformanceValues } from './conformance.ts';

const withLogin = async (
  context: Context,
  values: ConformanceValues,
  server: LoginServer,
  scopes: readonly string[],
): Promise<Row[]> => {
  const metadata = await discover(context.host, server.endpoints, context.signal);
  const { endpoints, clientId, clientSecret } = server;
  const isScripted = values.scripted === true || (server.isMock && !context.isInteractive);
  return grantRows({
    host: context.host,
    server,
    tokenClient: { endpoints, clientId, clientSecret, issuer: metadata?.issuer, jwksUri: metadata?.jwksUri },
    scopes,
    path: values['redirect-path'] ?? '',
    timeoutMs: parseDuration(values.timeout ?? '5m', '--timeout'),
    signal: context.signal,
    hide: (secret) => context.log.hide(secret),
    send: sender(context.host, context.signal),
    visit: async (url, redirectUri, launch) => {
      if (isScripted) return walkConsent(context, url, redirectUri);
      await showAddress(context, url);
      if (context.isInteractive) await context.host.openBrowser(launch);
    },
  });
};

export const runConformance = async (context: Context, values: ConformanceValues): Promise<Result> => {
  const server = await loginServer(context, await givenServer(context, values));
  const asked = (values.scope ?? []).flatMap(scopesFrom);
  const scopes = asked.length > 0 ? asked : [fullScope('media.readonly')];
  const prefix = values.only === undefined ? '' : values.only === 'rfc' ? 'RFC' : 'spec/';
  const probe = probeFor(context.host, server, scopes, values['redirect-path'] ?? '', context.signal);
  const rows: Row[] = [];
  for (const check of allChecks) if (check.source.startsWith(prefix)) rows.push(await rowOf(check, probe));
  if (values.login === true)
    rows.push(
      ...(await withLogin(context, values, server, scopes)).filter(({ source }) => source.startsWith(prefix)),
    );
  const held = rows.filter(({ holds }) => holds).length;
  const view = {
    columns: ['id', 'holds', 'says', 'saw', 'source'],
    name: 'id',
    message: `${held} of ${rows.length} checks hold`,
  };
  return { kind: 'rows', rows, view, exit: () => (held < rows.length ? 'no' : 'done') };
};
