import { parseDuration } from '../../core/duration.ts';
import { invalidArguments, problem } from '../../core/problem.ts';
import { demo } from '../../api-specs/oauth/demo.ts';
import type { LoginPlan } from '../login-plan.ts';
import { browserChoice, browserEnvironment } from '../methods/browser-environment.ts';
import type { LoginServer } from '../settings.ts';
import type { Context } from '../../cli/command.ts';
import { walkConsent } from '../demo/scripted-consent.ts';
import type { AskedLogin } from './asked.ts';
import { wanted } from './wanted-scopes.ts';

/** Strangers cannot guess a random path; the demo client of the embedded server takes any, others get what is registered. */
const pathFrom = (context: Context, server: LoginServer, given: string | undefined): string => {
  const path = given ?? (server.isMock && server.clientId === demo.clients.desktop ? 'random' : '');
  if (path !== 'random') return path;
  return `/${Buffer.from(context.host.random(12)).toString('base64url')}`;
};

const paramsFrom = (pairs: readonly string[] = []): Record<string, string> =>
  Object.fromEntries(
    pairs.map((pair) => [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)]),
  );

export const waitFrom = (given = '5m'): number => {
  const ms = parseDuration(given, '--timeout');
  if (ms > 0) return ms;
  throw invalidArguments([problem('--timeout', 'min', 'must be more than 0: nobody answers at once')]);
};

export const planFrom = async (
  context: Context,
  server: LoginServer,
  values: AskedLogin,
): Promise<LoginPlan> => {
  const asked = { browser: values.browser === true, noBrowser: values.browser === false };
  const opens = browserChoice(await browserEnvironment(context.host), asked, context.isInteractive).open;
  // Nobody is there to click: the embedded server's pages are walked by this program, as a browser would.
  const isScripted = values.scripted === true || (server.isMock && !opens && !asked.noBrowser);
  const isFree = values['client-secret-stdin'] !== true;
  return {
    server,
    ...(await wanted(context, server, values)),
    params: paramsFrom(values.param),
    port: values.port ?? 0,
    path: pathFrom(context, server, values['redirect-path']),
    ...(values['redirect-host'] === undefined || values['redirect-host'] === '127.0.0.1'
      ? {}
      : { redirectHost: values['redirect-host'] }),
    timeoutMs: waitFrom(values.timeout),
    ...asked,
    readsPaste: isFree && !isScripted,
    hasTerminal: context.isInteractive,
    ...(isScripted
      ? { scripted: (url: string, redirectUri: string) => walkConsent(context, url, redirectUri) }
      : {}),
  };
};
