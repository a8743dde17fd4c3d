import { documentedEventTypes } from '../../../api-specs/oauth/console-records.ts';
import { type consoleTable, oauthConsole } from '../../../api-specs/oauth/console.ts';
import { scopeName } from '../../../api-specs/oauth/endpoints.ts';
import { problem, problemText } from '../../../core/problem.ts';
import { HttpError } from '../../body.ts';
import type { MockReply, MockRequest } from '../../service-set.ts';
import { type Handlers, tableService } from '../../table-service.ts';
import { effectiveState, makeIntegrityToken } from '../integrity.ts';
import { base64url, findUser } from '../keys.ts';
import {
  clientHasAnIntegrityCheck,
  integrityTransitions,
  type IntegrityVerb,
  stateAllows,
  teamIdIsSet,
} from '../rules/rule.ts';
import { deliver, emitTokenRevoked, emitTokensRevoked, emitVerification } from '../security-events.ts';
import type { Auth, Family, Subscription } from '../state.ts';
import { familiesOf, revokeFamily } from '../tokens.ts';
import { clientHandlers, ciHandlers, serviceKeyHandlers, trustHandlers } from './clients.ts';
import {
  consentHandlers,
  policyHandlers,
  projectHandlers,
  serverHandlers,
  settingsHandlers,
  storeItemHandlers,
  userHandlers,
} from './users.ts';
import {
  clientById,
  deliveryView,
  findRecord,
  grantView,
  integrityView,
  sessionView,
  subscriptionView,
  tokenView,
} from './views.ts';

type State = { readonly auth: Auth };
const eventHandlers: Handlers<Pick<typeof consoleTable, 'events'>, State>['events'] = {
  list: ({ state: { auth } }) => [...auth.deliveries.values()].map(deliveryView),
  subscriptions: ({ state: { auth } }) => [...auth.subscriptions.values()].map(subscriptionView),
  subscribe: ({ state: { auth }, body }) => {
    const client = clientById(auth, body.client);
    if (!/^https?:\/\//.test(body.receiver))
      throw new HttpError(400, 'The receiver must be an HTTP address.', {
        problems: [problem('receiver', 'format', 'must start with http:// or https://')],
      });
    const subscription: Subscription = {
      id: base64url(auth.env.random(9)),
      client: client.id,
      url: body.receiver,
      types: body.types ?? documentedEventTypes,
      created_at: auth.env.now(),
    };
    auth.subscriptions.put(subscription.id, subscription);
    emitVerification(auth, subscription);
    return subscriptionView(subscription);
  },
  unsubscribe: ({ state: { auth }, params }) => {
    findRecord(auth.subscriptions, params.subscription, 'subscription');
    auth.subscriptions.delete(params.subscription);
    return undefined;
  },
  resend: ({ state: { auth }, params }) => {
    const delivery = {
      ...findRecord(auth.deliveries, params.delivery, 'delivery'),
      state: 'pending' as const,
      attempts: 0,
      done_at: null,
    };
    auth.deliveries.put(delivery.id, delivery);
    auth.env.later(() => deliver(auth, delivery.id));
    return deliveryView(delivery);
  },
};

type All = Handlers<typeof consoleTable, State>;
const end = (auth: Auth, families: readonly Family[]): void => {
  for (const family of families) {
    revokeFamily(auth, family);
    emitTokenRevoked(auth, family);
  }
};
const matches = (auth: Auth, query: { user?: string | undefined; client?: string | undefined }) => {
  const user = query.user === undefined ? undefined : (findUser(auth, query.user)?.id ?? query.user);
  return (record: { user: string; client: string }) =>
    (user === undefined || record.user === user) &&
    (query.client === undefined || record.client === query.client);
};
const grantHandlers: All['grants'] = {
  list: ({ state: { auth }, query }) => auth.grants.filter(matches(auth, query)).map(grantView),
  // spec/sign-in#states: "user revokes access": every refresh token of the pair becomes invalid.
  delete: ({ state: { auth }, params }) => {
    const grant = findRecord(auth.grants, params.grant, 'grant');
    end(
      auth,
      familiesOf(auth, grant.user).filter(({ client }) => client === grant.client),
    );
    emitTokensRevoked(auth, grant.user, grant.client);
    auth.grants.delete(grant.id);
    return undefined;
  },
  // spec/sign-in#check-4.8: a token with this scope is revoked, and the user must give consent again.
  removeScope: ({ state: { auth }, params, body }) => {
    const grant = findRecord(auth.grants, params.grant, 'grant');
    const name = scopeName(body.scope);
    if (!grant.scopes.some((scope) => scopeName(scope) === name)) {
      throw new HttpError(404, `The grant has no scope ${body.scope}.`, {
        problems: [problem('scope', 'rule', `is not one of ${grant.scopes.join(' ')}`)],
      });
    }
    const changed = { ...grant, scopes: grant.scopes.filter((scope) => scopeName(scope) !== name) };
    auth.grants.put(grant.id, changed);
    end(
      auth,
      familiesOf(auth, grant.user).filter(
        (family) =>
          family.client === grant.client && family.scopes.some((scope) => scopeName(scope) === name),
      ),
    );
    return grantView(changed);
  },
};
const tokenHandlers: All['tokens'] = {
  list: ({ state: { auth }, query }) =>
    auth.families.filter(matches(auth, query)).map((family) => tokenView(auth, family)),
  revoke: ({ state: { auth }, params }) => {
    end(auth, [findRecord(auth.families, params.token, 'refresh token')]);
    return undefined;
  },
};
const sessionHandlers: All['sessions'] = {
  list: ({ state: { auth } }) => [...auth.sessions.values()].map(sessionView),
  delete: ({ state: { auth }, params }) => {
    const entry = [...auth.sessions.entries()].find(([, session]) => session.id === params.session);
    if (entry === undefined) throw new HttpError(404, `There is no session ${params.session}.`);
    auth.sessions.delete(entry[0]);
    return undefined;
  },
};

/**
 * spec/sign-in#states: the change is stored immediately and takes effect within 15 minutes. Until that time
 * the previous state counts.
 */
const change = (auth: Auth, id: string, verb: IntegrityVerb) => {
  const client = clientById(auth, id);
  clientHasAnIntegrityCheck(client);
  stateAllows(client, verb);
  const { to, guards } = integrityTransitions[verb];
  for (const guard of guards) guard(client);
  if (client.integrity.state === to) return integrityView(auth, client);
  const effectiveAt = auth.env.now() + auth.settings().integrity_delay_seconds * 1000;
  const changed = {
    ...client,
    integrity: { state: to, before: effectiveState(auth, client), effective_at: effectiveAt, was_used: true },
  };
  auth.clients.put(client.id, changed);
  return integrityView(auth, changed);
};
const integrityHandlers: Handlers<Pick<typeof consoleTable, 'integrity'>, State>['integrity'] = {
  get: ({ state: { auth }, params }) => {
    const client = clientById(auth, params.client);
    clientHasAnIntegrityCheck(client);
    return integrityView(auth, client);
  },
  enable: ({ state: { auth }, params }) => change(auth, params.client, 'enable'),
  enforce: ({ state: { auth }, params }) => change(auth, params.client, 'enforce'),
  unenforce: ({ state: { auth }, params }) => change(auth, params.client, 'unenforce'),
  disable: ({ state: { auth }, params }) => change(auth, params.client, 'disable'),
  token: ({ state: { auth }, params }) => {
    const client = clientById(auth, params.client);
    clientHasAnIntegrityCheck(client);
    teamIdIsSet(client);
    return makeIntegrityToken(auth, client);
  },
};

const refusal = (refused: HttpError): MockReply => {
  const errors = Object.fromEntries(
    refused.problems.map((p) => [p.path === '' ? 'body' : p.path, problemText({ ...p, path: '' })]),
  );
  return {
    status: refused.status,
    headers: { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-store' },
    body: JSON.stringify({
      message: refused.message,
      ...(refused.problems.length > 0 ? { errors, problems: refused.problems } : {}),
    }),
  };
};
const LOCAL_HOST = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])(:\d+)?$/;
/**
 * The console has no password, so a page of another site must not reach it through the user's browser: the
 * server checks the Host (no DNS rebinding), the Origin must be ours, and a body must be JSON, which a
 * foreign form cannot send without a preflight request.
 */
const callerIsNotAForeignPage = (request: MockRequest): void => {
  const { host, origin } = request.headers;
  const page = origin?.replace(/^https?:\/\//, '');
  if (page !== undefined && page !== host && !LOCAL_HOST.test(page))
    throw new HttpError(403, 'The console does not accept requests from pages of other sites.');
  const type = request.headers['content-type'] ?? '';
  if (request.body.length > 0 && !/^application\/json\b/i.test(type))
    throw new HttpError(415, 'Send the body as application/json.');
};
export type ControlApi = (request: MockRequest) => MockReply | Promise<MockReply>;
/** spec/program#mock-server: the control API of the authorization service, below `/__opsctl/oauth`. */
export const makeControlApi = (auth: Auth): ControlApi =>
  tableService({
    service: oauthConsole,
    handlers: {
      projects: projectHandlers,
      clients: clientHandlers,
      users: userHandlers,
      sessions: sessionHandlers,
      grants: grantHandlers,
      tokens: tokenHandlers,
      policies: policyHandlers,
      storeItems: storeItemHandlers,
      integrity: integrityHandlers,
      events: eventHandlers,
      consent: consentHandlers,
      settings: settingsHandlers,
      server: serverHandlers,
      serviceKeys: serviceKeyHandlers,
      trusts: trustHandlers,
      ci: ciHandlers,
    },
    state: { auth },
    env: auth.env,
    admit: callerIsNotAForeignPage,
    refusal,
  });
