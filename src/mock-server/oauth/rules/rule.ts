import { type OauthParam, scopeName } from '../../../api-specs/oauth/endpoints.ts';
import type { MockRequest } from '../../service-set.ts';
import {
  OAuthError,
  OAuthPageError,
  type Params,
  RedirectError,
  customSchemeProblem,
  redirectForm,
} from '../errors.ts';
import type { Auth, Client, Code, Family, User, IntegrityState } from '../state.ts';
import { clientLimits, type ClientType, clientTypeRows } from '../../../api-specs/oauth/console-records.ts';
import { type Problem, problem } from '../../../core/problem.ts';
import { HttpError } from '../../body.ts';

/** One check: returns when it holds, throws a refusal when it is broken. Endpoints are ordered lists of them. */
export type Rule<C> = (call: C) => void;
export type RequestCall = { readonly auth: Auth; readonly request: MockRequest; readonly params: Params };
/** The data for the rules of an account, after sign-in. */
type AccountCall = {
  readonly auth: Auth;
  readonly client: Client;
  readonly user: User;
  readonly scopes: readonly string[];
};
/** Client ID and secret as they came: in the body, or by HTTP Basic (RFC 6749 2.3.1). */
export type Credentials = {
  readonly id: string | undefined;
  readonly secret: string | undefined;
  readonly isBasic: boolean;
};
export type TokenCall = {
  readonly auth: Auth;
  readonly request: MockRequest;
  readonly params: Params;
  readonly credentials: Credentials;
  /** Thumbprint of the key that the tokens will be bound to; absent for Bearer tokens. */
  readonly boundTo?: string;
};
export type ClientCall = TokenCall & { readonly client: Client };
export type ExchangeCall = ClientCall & { readonly code: Code };
export type RefreshCall = ClientCall & { readonly family: Family };
/** RFC 6749 3.1: a parameter without a value counts as omitted. */
export const readParam = (params: Params, name: OauthParam): string | undefined => {
  const value = params.get(name);
  return value === '' ? undefined : value;
};
export const clientOf = ({ auth, params }: RequestCall): Client => {
  const client = auth.clients.get(params.get('client_id') ?? '');
  if (client === undefined) throw new Error('the client is looked up before it was checked');
  return client;
};
export const checkRules = <C>(rules: readonly Rule<C>[], call: C): void => {
  for (const rule of rules) rule(call);
};

/** spec/sign-in#limits-6; spec/sign-in#check-12.9: none unless a setting gives one. Counts whole minutes. */
export const makeRateRule = (auth: Auth) => {
  let minute = 0;
  let count = 0;
  return (): void => {
    const limit = auth.settings().rate_per_minute;
    if (limit === null) return;
    const now = Math.floor(auth.env.now() / 60_000);
    if (now !== minute) [minute, count] = [now, 0];
    count += 1;
    if (count > limit)
      throw new OAuthError('rate_limit_exceeded', `More than ${limit} requests in this minute`, 429, {
        'retry-after': '60',
      });
  };
};

/** spec/sign-in#errors: a deleted or disabled account cannot grant access. */
const accountIsActive: Rule<AccountCall> = ({ user }) => {
  if (user.state !== 'active') throw new RedirectError('access_denied', 'The account is disabled or deleted');
};
/** spec/sign-in#errors-4: the project is restricted to accounts of one organization. */
const accountIsOfTheOrganization: Rule<AccountCall> = ({ auth, client, user }) => {
  const project = auth.projects.get(client.project);
  if (project?.is_internal && project.organization !== user.organization) {
    throw new OAuthPageError(
      'org_internal',
      `${client.name} is for accounts of ${project.organization ?? 'another organization'}; you are signed in as ${user.email}`,
    );
  }
};
/** spec/sign-in#errors-2: one forbidden scope stops the whole request, for trusted and domain-wide apps too (spec/sign-in#check-2.40, spec/sign-in#check-3.10). */
const policyAllowsTheScopes: Rule<AccountCall> = ({ auth, client, user, scopes }) => {
  for (const policy of auth.policies.values()) {
    if (
      policy.organization !== user.organization ||
      (policy.clients.length > 0 && !policy.clients.includes(client.id))
    )
      continue;
    const blocked = policy.blocked_scopes.map(scopeName);
    const hit = scopes.find((scope) => blocked.includes(scopeName(scope)));
    if (hit !== undefined)
      throw new OAuthPageError('admin_policy_enforced', `A policy of ${policy.organization} forbids ${hit}`);
  }
};
/** In the order in which a user meets them. */
export const accountRules: readonly Rule<AccountCall>[] = [
  accountIsActive,
  accountIsOfTheOrganization,
  policyAllowsTheScopes,
];

/** Values of a client as they will be stored. */
export type ClientDraft = { readonly type: ClientType } & Readonly<Record<string, unknown>>;
type ClientRule = (draft: ClientDraft) => Problem[];
const typesOf = (field: string): ClientType[] =>
  Object.values(clientTypeRows).flatMap((row) => (row.fields.includes(field) ? [row.type] : []));
const typed = [...new Set(Object.values(clientTypeRows).flatMap((row) => row.fields))];
const isSet = (value: unknown): boolean =>
  value !== undefined && value !== null && value !== '' && value !== false;
/** spec/sign-in#client: each type has its own fields. */
const fieldsBelongToTheType: ClientRule = (draft) =>
  typed
    .filter((field) => isSet(draft[field]) && !typesOf(field).includes(draft.type))
    .map((field) =>
      problem(
        field,
        'rule',
        `is not a field of ${draft.type} clients`,
        `it belongs to ${typesOf(field).join(', ')}`,
      ),
    );
/** spec/sign-in#client: package name and fingerprint of mobile A, bundle identifier of mobile B, store ID of universal desktop. */
const requiredFieldsAreGiven: ClientRule = (draft) =>
  clientTypeRows[draft.type].required
    .filter((field) => !isSet(draft[field]))
    .map((field) => problem(field, 'required', `is required for ${draft.type} clients`));
/** spec/sign-in: "SHA-1 signing-certificate fingerprint": 20 bytes in hexadecimal, with or without colons. */
export const fingerprintIsSha1: ClientRule = ({ fingerprint }) =>
  typeof fingerprint !== 'string' ||
  /^([0-9A-Fa-f]{2}:){19}[0-9A-Fa-f]{2}$/.test(fingerprint) ||
  /^[0-9A-Fa-f]{40}$/.test(fingerprint)
    ? []
    : [
        problem(
          'fingerprint',
          'format',
          'must be a SHA-1 fingerprint: 20 bytes as AA:BB:… or 40 hexadecimal digits',
          'a SHA-256 fingerprint is longer: take the SHA-1 one',
        ),
      ];
/** spec/sign-in: mobile B "numeric string, last part of the store URL of the app"; universal desktop "exactly 12 characters". */
const storeIdHasItsForm: ClientRule = ({ type, store_id: id }) => {
  if (typeof id !== 'string' || id === '') return [];
  if (type === 'mobile-b' && !/^\d+$/.test(id))
    return [problem('store_id', 'format', 'must be digits only: the last part of the store URL of the app')];
  return type === 'universal-desktop' && id.length !== clientLimits.universalStoreId
    ? [
        problem(
          'store_id',
          id.length < clientLimits.universalStoreId ? 'min' : 'max',
          `must have exactly ${clientLimits.universalStoreId} characters, has ${id.length}`,
        ),
      ]
    : [];
};
const redirectProblem = (type: ClientType, uri: string): string | undefined => {
  const form = redirectForm(uri);
  const { redirects, title } = clientTypeRows[type];
  if (/^urn:ietf:wg:oauth:2\.0:oob/.test(uri)) return 'is the retired out-of-band flow';
  if (form.kind === 'custom') {
    if (!redirects.customScheme) return `is invalid for the type ${title}`;
    const long = type === 'universal-desktop' && form.scheme.length > clientLimits.universalScheme;
    return long
      ? `has a scheme of ${form.scheme.length} characters, at most ${clientLimits.universalScheme} are allowed`
      : customSchemeProblem(form);
  }
  if (form.kind === 'loopback') return redirects.loopback ? undefined : `is invalid for the type ${title}`;
  return form.kind === 'https' && redirects.https ? undefined : `is invalid for the type ${title}`;
};
/** spec/sign-in#redirect and spec/sign-in#limits: custom URI scheme of universal desktop, at most 39 characters. */
const redirectUrisFitTheType: ClientRule = ({ type, redirect_uris: uris }) =>
  ((uris as string[] | undefined) ?? []).flatMap((uri, i) => {
    const found = redirectProblem(type, uri);
    return found === undefined ? [] : [problem(`redirect_uris[${i}]`, 'rule', found)];
  });
export const clientRules: readonly ClientRule[] = [
  fieldsBelongToTheType,
  requiredFieldsAreGiven,
  fingerprintIsSha1,
  storeIdHasItsForm,
  redirectUrisFitTheType,
];

const conflict = (field: string, message: string): never => {
  throw new HttpError(409, message, { problems: [problem(field, 'rule', message)] });
};
/** spec/sign-in#client: only mobile platform B has an integrity check (spec/sign-in#check-10.13). */
export const clientHasAnIntegrityCheck = (client: Client): void => {
  if (client.type !== 'mobile-b')
    conflict('client', `Clients of the type ${client.type} have no integrity check; only mobile-b has.`);
};
/** spec/sign-in#states: "team ID set, bundle identifier has no `*`". */
export const teamIdIsSet = (client: Client): void => {
  if (!client.team_id) conflict('team_id', 'The integrity check needs a team ID.');
};
/** The same row. */
export const bundleHasNoWildcard = (client: Client): void => {
  if (client.bundle_id?.includes('*'))
    conflict('bundle_id', 'The integrity check needs a bundle identifier without *.');
};
type Transition = {
  readonly from: readonly IntegrityState[];
  readonly to: IntegrityState;
  readonly guards: readonly ((client: Client) => void)[];
};
export type IntegrityVerb = 'enable' | 'enforce' | 'unenforce' | 'disable';
/** spec/sign-in#states, the four rows of the integrity check. */
export const integrityTransitions: Readonly<Record<IntegrityVerb, Transition>> = {
  enable: { from: ['disabled', 'monitoring'], to: 'monitoring', guards: [teamIdIsSet, bundleHasNoWildcard] },
  enforce: { from: ['monitoring', 'enforced'], to: 'enforced', guards: [teamIdIsSet] },
  unenforce: { from: ['enforced', 'monitoring'], to: 'monitoring', guards: [] },
  disable: { from: ['monitoring', 'enforced', 'disabled'], to: 'disabled', guards: [] },
};
/** spec/sign-in#states, second column of the integrity rows; existing values are allowed again. */
export const stateAllows = (client: Client, verb: IntegrityVerb): void => {
  const { from } = integrityTransitions[verb];
  if (!from.includes(client.integrity.state))
    conflict(
      'state',
      `Cannot ${verb}: the integrity check is ${client.integrity.state}; it must be ${from.join(' or ')}.`,
    );
};
