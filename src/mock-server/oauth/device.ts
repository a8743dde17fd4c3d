import { cutText } from '../../core/problem.ts';
import { authPaths } from '../../api-specs/oauth/endpoints.ts';
import type { MockReply, MockRequest } from '../service-set.ts';
import {
  deletedClientError,
  isClientActive,
  noteUse,
  base64url,
  findUser,
  idToken,
  issuerFor,
  passwordIsRight,
  sha256,
  type Signer,
} from './keys.ts';
import {
  parseScopes,
  jsonReply,
  OAuthError,
  oauthErrorReply,
  OAuthPageError,
  readParams,
  RedirectError,
  unknownScopes,
} from './errors.ts';
import { accessAnswer, addGrant, issueFamily } from './tokens.ts';
import { deviceDonePage, devicePage, errorPage } from './pages.ts';
import { accountRules, checkRules, type ClientCall, readParam } from './rules/rule.ts';
import { connectionIsSafe } from './rules/authorize.ts';
import { credentialsOf, formRules, secretIsRight } from './rules/token-client.ts';
import { openAccounts } from './console/users.ts';
import type { Auth, Device, User } from './state.ts';

const lifeS = 900;
const firstIntervalS = 5;
/** RFC 8628 6.1: without vowels, so that no words come out. */
const letters = 'BCDFGHJKLMNPQRSTVWXZ';
const newUserCode = (auth: Auth): string => {
  const text = [...auth.env.random(8)].map((byte) => letters[byte % letters.length]).join('');
  return `${text.slice(0, 4)}-${text.slice(4)}`;
};
const isOver = (auth: Auth, device: Device): boolean => auth.env.now() >= device.created_at + lifeS * 1000;

const begin = (auth: Auth, request: MockRequest): MockReply => {
  const params = readParams(Buffer.from(request.body).toString('utf8'));
  checkRules(formRules, { auth, request, params });
  const credentials = credentialsOf(request, params);
  const client = auth.clients.get(credentials.id ?? '');
  if (client === undefined) throw new OAuthError('invalid_client', 'The OAuth client was not found.');
  if (!isClientActive(auth, client)) throw new OAuthError('deleted_client', 'The OAuth client was deleted.');
  secretIsRight({ auth, request, params, credentials, client });
  const scopes = parseScopes(readParam(params, 'scope') ?? '');
  if (scopes.length === 0) throw new OAuthError('invalid_request', 'Missing required field: scope');
  const unknown = unknownScopes(auth, scopes);
  if (unknown.length > 0)
    throw new OAuthError('invalid_scope', `Unknown scope: ${cutText(unknown.join(' '), 300)}`);
  const deviceCode = base64url(auth.env.random(32));
  const now = auth.env.now();
  const device: Device = {
    id: sha256(deviceCode),
    user_code: newUserCode(auth),
    client: client.id,
    scopes,
    created_at: now,
    asked_at: 0,
    interval_seconds: firstIntervalS,
    state: 'pending',
    user: null,
  };
  auth.env.store.transact(() => auth.devices.put(device.id, device));
  const page = issuerFor(auth.env, request) + authPaths.devicePage;
  return jsonReply(200, {
    device_code: deviceCode,
    user_code: device.user_code,
    verification_uri: page,
    verification_uri_complete: `${page}?user_code=${device.user_code}`,
    expires_in: lifeS,
    interval: firstIntervalS,
  });
};

/** `POST /device/code` (RFC 8628 3.1, an extension). */
export const deviceEndpoint = (auth: Auth, keepRate: () => void, request: MockRequest): MockReply => {
  try {
    keepRate();
    return begin(auth, request);
  } catch (error) {
    if (error instanceof OAuthError) return oauthErrorReply(error);
    throw error;
  }
};

const plain = (code: string): string => code.toUpperCase().replace(/[^A-Z]/g, '');
const deviceOf = (auth: Auth, userCode: string): Device | undefined =>
  auth.devices.find(
    (device) =>
      device.state === 'pending' && !isOver(auth, device) && plain(device.user_code) === plain(userCode),
  );

const pageFor = (auth: Auth, userCode: string, problem?: string): MockReply => {
  const device = deviceOf(auth, userCode);
  const client = device === undefined ? undefined : auth.clients.get(device.client);
  return devicePage({
    userCode,
    client: client?.name,
    scopes: device?.scopes,
    problem,
    accounts: openAccounts(auth),
  });
};

const decide = (auth: Auth, device: Device, user: User, isAllowed: boolean): MockReply => {
  const client = auth.clients.get(device.client);
  if (client === undefined) throw deletedClientError(auth, client);
  if (isAllowed) checkRules(accountRules, { auth, client, user, scopes: device.scopes });
  auth.env.store.transact(() => {
    auth.devices.put(device.id, { ...device, state: isAllowed ? 'granted' : 'denied', user: user.id });
    if (isAllowed) addGrant(auth, user.id, client.id, device.scopes);
  });
  return deviceDonePage(isAllowed);
};

const handleDecision = (auth: Auth, request: MockRequest): MockReply => {
  const params = readParams(Buffer.from(request.body).toString('utf8'));
  const userCode = params.get('user_code') ?? '';
  const device = deviceOf(auth, userCode);
  if (device === undefined)
    return pageFor(auth, userCode, 'This code is not known, was used or has expired.');
  // The password is required each time, because a foreign page that sends this form does not know it.
  const user = findUser(auth, params.get('email') ?? '');
  if (user === undefined || !passwordIsRight(user, params.get('password') ?? ''))
    return pageFor(auth, userCode, 'The e-mail address or the password is wrong.');
  return decide(auth, device, user, params.get('decision') === 'allow');
};

/** `GET` and `POST /device`: the page on which the user enters the code. */
export const deviceDecision = (auth: Auth, request: MockRequest): MockReply => {
  try {
    connectionIsSafe({ auth, request, params: readParams('') });
    if (request.method === 'POST') return handleDecision(auth, request);
    return pageFor(auth, readParams(request.query).get('user_code') ?? '');
  } catch (error) {
    if (error instanceof RedirectError) return errorPage(new OAuthPageError('access_denied', error.message));
    if (error instanceof OAuthPageError) return errorPage(error);
    throw error;
  }
};

/** With scripted consent, no user has to enter the code. */
const scriptedUser = (auth: Auth, device: Device): User | undefined => {
  const consent = auth.consent();
  if (device.state !== 'pending' || consent.mode !== 'auto') return undefined;
  return consent.user === null
    ? auth.users.find((user) => user.kind === 'person' && user.state === 'active')
    : findUser(auth, consent.user);
};

/** RFC 8628 3.5: the responses to a device that polls. */
const patience = (auth: Auth, device: Device): OAuthError => {
  const now = auth.env.now();
  const isHasty = now < device.asked_at + device.interval_seconds * 1000;
  const interval = device.interval_seconds + (isHasty ? 5 : 0);
  auth.env.store.transact(() =>
    auth.devices.put(device.id, { ...device, asked_at: now, interval_seconds: interval }),
  );
  return isHasty
    ? new OAuthError('slow_down', `Ask every ${interval} seconds.`)
    : new OAuthError('authorization_pending', 'The user has not decided yet.');
};

/** RFC 8628 3.4: the device code becomes tokens once its user has allowed it. */
export const redeemDevice = (call: ClientCall, signer: Signer): MockReply => {
  const { auth, client, params } = call;
  const text = readParam(params, 'device_code');
  if (text === undefined) throw new OAuthError('invalid_request', 'Missing required field: device_code');
  const device = auth.devices.get(sha256(text));
  if (device === undefined || device.client !== client.id)
    throw new OAuthError('invalid_grant', 'The device code is not known.');
  if (isOver(auth, device)) throw new OAuthError('expired_token', 'The device code has expired.');
  if (device.state === 'denied') throw new OAuthError('access_denied', 'The user refused access.');
  const user = device.user === null ? scriptedUser(auth, device) : auth.users.get(device.user);
  if (user === undefined) throw patience(auth, device);
  if (user.state !== 'active')
    throw new OAuthError('invalid_grant', 'The account has been deleted or disabled.');
  noteUse(auth, client);
  const granted = {
    asked: { client: client.id, nonce: null },
    user: user.id,
    scopes: device.scopes,
    access_for_seconds: null,
    signed_in_at: auth.env.now(),
  };
  const { family, refreshToken } = auth.env.store.transact(() => {
    auth.devices.delete(device.id);
    return issueFamily(auth, granted, call.boundTo);
  });
  const answer = accessAnswer(auth, family, family.scopes, family.issued_at, call.boundTo);
  const issuer = issuerFor(auth.env, call.request);
  return jsonReply(200, {
    ...answer,
    refresh_token: refreshToken,
    ...idToken(auth, signer, { client, code: granted, issuer }, answer.access_token),
  });
};
