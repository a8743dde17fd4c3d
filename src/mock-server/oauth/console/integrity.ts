import type { consoleTable } from '../../../api-specs/oauth/console.ts';
import type { Handlers } from '../../table-service.ts';
import { effectiveState, makeIntegrityToken } from '../integrity.ts';
import {
  type IntegrityVerb,
  clientHasAnIntegrityCheck,
  integrityTransitions,
  stateAllows,
  teamIdIsSet,
} from '../rules/integrity-transitions.ts';
import type { Auth } from '../state.ts';
import { clientById } from './lookup.ts';
import { integrityView } from './views.ts';

type State = { readonly auth: Auth };

/** spec/sign-in#states: the change is stored at once and takes effect within 15 minutes; until then the state before it counts. */
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

export const integrityHandlers: Handlers<Pick<typeof consoleTable, 'integrity'>, State>['integrity'] = {
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
