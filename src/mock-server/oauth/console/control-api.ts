import { problemText } from '../../../core/problem.ts';
import { oauthConsole } from '../../../api-specs/oauth/console.ts';
import { HttpError } from '../../http-error.ts';
import type { MockReply, MockRequest } from '../../service.ts';
import { tableService } from '../../table-service.ts';
import type { Auth } from '../state.ts';
import { clientHandlers } from './clients.ts';
import { eventHandlers } from './events.ts';
import { grantHandlers, sessionHandlers, tokenHandlers } from './grants.ts';
import { integrityHandlers } from './integrity.ts';
import { ciHandlers, serviceKeyHandlers, trustHandlers } from './machines.ts';
import {
  consentHandlers,
  policyHandlers,
  projectHandlers,
  serverHandlers,
  settingsHandlers,
  storeItemHandlers,
} from './others.ts';
import { userHandlers } from './users.ts';

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
 * The console has no password, so a page of another site must not reach it through the user's browser: the server looks
 * at the Host (no DNS rebinding), the Origin is ours, and a body is JSON, which a foreign form cannot send unasked.
 */
const callerIsNotAForeignPage = (request: MockRequest): void => {
  const { host, origin } = request.headers;
  const page = origin?.replace(/^https?:\/\//, '');
  if (page !== undefined && page !== host && !LOCAL_HOST.test(page))
    throw new HttpError(403, 'The console takes no requests from pages of other sites.');
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
