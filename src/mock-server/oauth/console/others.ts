import type { consoleTable } from '../../../api-specs/oauth/console.ts';
import { problem } from '../../../core/problem.ts';
import { scopeRow } from '../../../api-specs/oauth/scopes.ts';
import { HttpError } from '../../http-error.ts';
import type { Handlers } from '../../table-service.ts';
import { base64url } from '../digest.ts';
import { fingerprintIsSha1 } from '../rules/client-fields.ts';
import { type Auth, type Project, type StoreItem, collectionsOf } from '../state.ts';
import { found, userByName } from './lookup.ts';
import { policyView, projectView, storeItemView, warningView } from './views.ts';

type State = { readonly auth: Auth };
type All = Handlers<typeof consoleTable, State>;
const newId = (auth: Auth): string => base64url(auth.env.random(9));

/** spec/sign-in#errors-4: only a project that belongs to an organization can be restricted to it. */
const internalHasAnOrganization = (project: Project): void => {
  if (!project.is_internal || project.organization) return;
  throw new HttpError(400, 'An internal project belongs to an organization.', {
    problems: [problem('organization', 'required', 'is required for an internal project')],
  });
};

export const projectFrom = (
  auth: Auth,
  body: {
    name: string;
    organization?: string | undefined;
    is_internal?: boolean | undefined;
    media_api?: boolean | undefined;
    id?: string;
  },
): Project => {
  const number = auth.env.store.next('auth.projects', 417_000_000_001);
  return {
    id: body.id ?? `project-${number}`,
    number,
    name: body.name,
    organization: body.organization ?? null,
    is_internal: body.is_internal ?? false,
    media_api: body.media_api ?? true,
    created_at: auth.env.now(),
  };
};
export const projectHandlers: All['projects'] = {
  list: ({ state: { auth } }) => [...auth.projects.values()].map(projectView),
  create: ({ state: { auth }, body }) => {
    const project = projectFrom(auth, body);
    internalHasAnOrganization(project);
    auth.projects.put(project.id, project);
    return projectView(project);
  },
  update: ({ state: { auth }, params, body }) => {
    const given = Object.fromEntries(Object.entries(body).filter(([, value]) => value !== undefined));
    const project: Project = { ...found(auth.projects, params.project, 'project'), ...given };
    internalHasAnOrganization(project);
    auth.projects.put(project.id, project);
    return projectView(project);
  },
};

const scopesExist = (field: string, scopes: readonly string[]): void => {
  const problems = scopes.flatMap((scope, i) =>
    scopeRow(scope) === undefined
      ? [problem(`${field}[${i}]`, 'rule', `is not a known scope: ${scope}`)]
      : [],
  );
  if (problems.length > 0) throw new HttpError(400, 'A scope is not known.', { problems });
};
export const policyHandlers: All['policies'] = {
  list: ({ state: { auth } }) => [...auth.policies.values()].map(policyView),
  create: ({ state: { auth }, body }) => {
    scopesExist('blocked_scopes', body.blocked_scopes);
    const policy = {
      id: newId(auth),
      organization: body.organization,
      blocked_scopes: body.blocked_scopes,
      clients: body.clients ?? [],
      created_at: auth.env.now(),
    };
    auth.policies.put(policy.id, policy);
    return policyView(policy);
  },
  delete: ({ state: { auth }, params }) => {
    found(auth.policies, params.policy, 'policy');
    auth.policies.delete(params.policy);
    return undefined;
  },
};

const needed = { app: ['package_name', 'fingerprint'], extension: ['item_id'] } as const;
export const storeItemHandlers: All['storeItems'] = {
  list: ({ state: { auth } }) => [...auth.storeItems.values()].map(storeItemView),
  create: ({ state: { auth }, body }) => {
    const missing = needed[body.kind]
      .filter((name) => body[name] === undefined)
      .map((name) => problem(name, 'required', `is required for an ${body.kind}`));
    const problems = [...missing, ...fingerprintIsSha1({ type: 'mobile-a', fingerprint: body.fingerprint })];
    if (problems.length > 0) throw new HttpError(400, 'The store item is not valid.', { problems });
    const item: StoreItem = {
      id: newId(auth),
      kind: body.kind,
      package_name: body.package_name ?? null,
      fingerprint: body.fingerprint ?? null,
      item_id: body.item_id ?? null,
      accounts: body.accounts,
      granted_at: auth.env.now(),
    };
    auth.storeItems.put(item.id, item);
    return storeItemView(item);
  },
  delete: ({ state: { auth }, params }) => {
    found(auth.storeItems, params.item, 'store item');
    auth.storeItems.delete(params.item);
    return undefined;
  },
};

export const consentHandlers: All['consent'] = {
  get: ({ state: { auth } }) => auth.consent(),
  set: ({ state: { auth }, body }) => {
    const user = body.user === undefined ? null : userByName(auth, body.user).email;
    scopesExist('scopes', body.scopes ?? []);
    const consent = {
      mode: body.mode,
      user,
      scopes: body.scopes ?? [],
      access_for_seconds: body.access_for_seconds ?? null,
    };
    auth.single.put('consent', consent);
    return consent;
  },
};

export const settingsHandlers: All['settings'] = {
  get: ({ state: { auth } }) => auth.settings(),
  set: ({ state: { auth }, body }) => {
    const given = Object.fromEntries(Object.entries(body).filter(([, value]) => value !== undefined));
    const settings = { ...auth.settings(), ...given };
    auth.single.put('settings', settings);
    return settings;
  },
};

export const serverHandlers: All['server'] = {
  warnings: ({ state: { auth } }) => [...auth.warnings.values()].map(warningView),
  counts: ({ state: { auth } }) =>
    Object.fromEntries(
      Object.entries(collectionsOf(auth.env.store)).map(([name, records]) => [name, records.size]),
    ),
};
