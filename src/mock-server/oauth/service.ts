import { deviceDecision, deviceEndpoint } from './device.ts';
import { authPaths } from '../../api-specs/oauth/endpoints.ts';
import type { MockReply, MockRequest, MockService, Environment } from '../service.ts';
import { authorize } from './authorize.ts';
import { ciIssuer } from './ci-issuer.ts';
import { makeControlApi } from './console/control-api.ts';
import { makeConsolePage } from './console/console-page.ts';
import { jsonReply } from './json-reply.ts';
import { makeSigner, type Signer } from './keys.ts';
import { makeMedia } from './media.ts';
import { keysReply, metadataOf, userinfoReply } from './metadata.ts';
import { revokeEndpoint } from './revoke-endpoint.ts';
import { makeRateRule } from './rules/rate.ts';
import { seedDemo } from './seed.ts';
import { deliver } from './security-events.ts';
import { type Auth, authState } from './state.ts';
import { makeSweeper } from './sweep.ts';
import { tokenEndpoint } from './token-endpoint.ts';

type Handle = (request: MockRequest) => MockReply | Promise<MockReply>;

const exactRoutes = (auth: Auth, signer: Signer): ReadonlyMap<string, Handle> => {
  const keepRate = makeRateRule(auth);
  const metadata = (request: MockRequest) => jsonReply(200, metadataOf(auth, request));
  return new Map<string, Handle>([
    [authPaths.authorize, (request) => authorize(auth, request)],
    [authPaths.token, (request) => tokenEndpoint(auth, signer, keepRate, request)],
    [authPaths.revoke, (request) => revokeEndpoint(auth, keepRate, request)],
    [authPaths.device, (request) => deviceEndpoint(auth, keepRate, request)],
    [authPaths.devicePage, (request) => deviceDecision(auth, request)],
    [authPaths.metadata, metadata],
    [authPaths.openidMetadata, metadata],
    [authPaths.keys, () => keysReply(signer)],
    [authPaths.userinfo, (request) => userinfoReply(auth, request)],
    [authPaths.console, () => ({ status: 302, headers: { location: `${authPaths.console}/console` } })],
  ]);
};
const readOnly: Readonly<Record<string, readonly string[]>> = {
  [authPaths.metadata]: ['GET'],
  [authPaths.openidMetadata]: ['GET'],
  [authPaths.keys]: ['GET'],
  [authPaths.devicePage]: ['GET', 'POST'],
  // OpenID Connect Core 5.3: both.
  [authPaths.userinfo]: ['GET', 'POST'],
};

const methodRefusal = ({ path, method }: MockRequest): MockReply | undefined => {
  const methods = readOnly[path];
  if (methods === undefined || methods.includes(method)) return undefined;
  const text = `${method} is not supported; use ${methods.join(' or ')}`;
  return jsonReply(405, { error: 'invalid_request', error_description: text }, { allow: methods.join(', ') });
};

/** Events that were not delivered when the server stopped go on with the next one. */
const resume = (auth: Auth): void => {
  for (const delivery of auth.deliveries.filter(({ state }) => state === 'pending'))
    auth.env.later(() => deliver(auth, delivery.id));
};

/** spec/sign-in: the installed-application authorization service with its data API and its developer console. */
export const makeAuth = (env: Environment): MockService => {
  const auth = authState(env);
  const signer = makeSigner(auth);
  const exact = exactRoutes(auth, signer);
  const sweep = makeSweeper(auth);
  const controlApi = makeControlApi(auth);
  const prefixes: readonly (readonly [string, Handle])[] = [
    [`${authPaths.authorize}/`, (request) => authorize(auth, request)],
    [`${authPaths.media}/`, makeMedia(auth)],
    [`${authPaths.ci}/`, (request) => ciIssuer(auth, signer, request)],
    [`${authPaths.console}/console`, makeConsolePage(auth, controlApi)],
    [`${authPaths.console}/`, controlApi],
  ];
  let isResumed = false;
  const handlerOf = (path: string): Handle | undefined =>
    exact.get(path) ?? prefixes.find(([prefix]) => path.startsWith(prefix))?.[1];
  return {
    name: 'auth',
    owns: (path) => handlerOf(path) !== undefined,
    handle: (request) => {
      if (!isResumed) {
        isResumed = true;
        resume(auth);
      }
      const refused = methodRefusal(request);
      if (refused !== undefined) return refused;
      const reply = handlerOf(request.path)?.(request) ?? jsonReply(404, { error: 'not_found' });
      sweep();
      return reply;
    },
    seed: (kind) => {
      if (kind === 'demo') env.store.transact(() => seedDemo(auth));
    },
  };
};
