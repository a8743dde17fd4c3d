import {
  scopeName,
  media,
  mediaScopes,
  type mediaTable,
  partScopes,
} from '../../api-specs/oauth/endpoints.ts';
import { HttpError, JSON_TYPE } from '../body.ts';
import type { MockReply, MockRequest } from '../service-set.ts';
import { type Call, type Handlers, tableService } from '../table-service.ts';
import { readParams } from './errors.ts';
import { base64url } from './keys.ts';
import type { Auth, User, Video } from './state.ts';
import { openedBy, proofChallenge, ProofError, type SentToken, tokenInHeader } from './pushed-requests.ts';
import type { Access } from './tokens.ts';

/** spec/sign-in#data-api: the header, or the query parameter `access_token`. RFC 6750 2: one way at a time. */
export const sentToken = (request: MockRequest): { readonly sent?: SentToken; readonly problem?: string } => {
  const query = readParams(request.query);
  const inQuery = query.all('access_token');
  const header = request.headers.authorization;
  if (header === undefined) {
    if (inQuery.length > 1) return { problem: 'access_token was given more than once' };
    return inQuery[0] ? { sent: { token: inQuery[0], isBound: false } } : {};
  }
  if (inQuery.length > 0) return { problem: 'An access token was given in the header and in the query' };
  const sent = tokenInHeader(header);
  return sent === undefined ? {} : { sent };
};

const statuses: Readonly<Record<number, string>> = {
  400: 'INVALID_ARGUMENT',
  401: 'UNAUTHENTICATED',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  405: 'METHOD_NOT_ALLOWED',
};
const reasons: Readonly<Record<number, string>> = {
  400: 'badRequest',
  404: 'notFound',
  405: 'methodNotAllowed',
};
/** spec/sign-in#check-8.13, and RFC 6750 3 for the header. */
const refusal = (refused: HttpError): MockReply => {
  const {
    reason = reasons[refused.status],
    challenge,
    proof,
  } = refused.body as { reason?: string; challenge?: string; proof?: ProofError };
  const missing = refused.problems.find(({ rule }) => rule === 'required');
  const problems = refused.problems.map(({ path, message }) => `${path} ${message}`).join('; ');
  const message = problems === '' ? refused.message : `${refused.message} ${problems}`;
  const errors = [{ message, domain: 'global', reason: missing === undefined ? reason : 'required' }];
  const needsToken = refused.status === 401 || challenge !== undefined;
  const bearer = `Bearer realm="media"${challenge === undefined ? '' : `, error="${challenge}", error_description="${refused.message}"`}`;
  return {
    status: refused.status,
    headers: {
      'content-type': JSON_TYPE,
      'cache-control': 'no-store',
      ...(needsToken ? { 'www-authenticate': proof === undefined ? bearer : proofChallenge(proof) } : {}),
      ...proof?.headers,
    },
    body: JSON.stringify({
      error: { code: refused.status, message, errors, status: statuses[refused.status] ?? 'UNKNOWN' },
    }),
  };
};
const refuse = (status: number, reason: string, message: string, challenge?: string): never => {
  throw new HttpError(status, message, {
    body: { reason, ...(challenge === undefined ? {} : { challenge }) },
  });
};
const accessFrom = (auth: Auth, request: MockRequest, sent: SentToken): Access | undefined => {
  try {
    return openedBy(auth, request, sent);
  } catch (error) {
    if (!(error instanceof ProofError)) throw error;
    throw new HttpError(401, error.message, {
      body: { reason: 'authError', challenge: error.code, proof: error },
    });
  }
};
type Caller = { readonly access: Access; readonly user: User };
/** spec/sign-in#data-api: header or query, a live token, the API enabled for the project, service accounts only for content owners. */
const callerOf = (auth: Auth, request: MockRequest): Caller => {
  const { sent, problem } = sentToken(request);
  if (problem !== undefined) return refuse(400, 'badRequest', problem, 'invalid_request');
  if (sent === undefined) return refuse(401, 'required', 'Login Required.');
  const access = accessFrom(auth, request, sent);
  const user = access && auth.users.get(access.family.user);
  if (access === undefined || user === undefined)
    return refuse(401, 'authError', 'Invalid Credentials', 'invalid_token');
  const client = auth.clients.get(access.family.client);
  if (client !== undefined && auth.projects.get(client.project)?.media_api === false) {
    return refuse(
      403,
      'accessNotConfigured',
      'The data API is not enabled for the project of this client. Enable it in the developer console.',
    );
  }
  if (user.kind === 'service-account' && !(user.is_content_owner && user.channels > 1)) {
    return refuse(
      403,
      'serviceAccountNotSupported',
      'Service accounts are supported only for content owners who own and manage several channels.',
    );
  }
  return { access, user };
};
const needScope = (access: Access, names: readonly string[]): void => {
  const granted = new Set(access.scopes.map(scopeName));
  if (names.some((name) => granted.has(name))) return;
  refuse(
    403,
    'insufficientPermissions',
    'Request had insufficient authentication scopes.',
    'insufficient_scope',
  );
};
const PARTS = ['id', 'snippet', 'status', 'statistics', 'contentDetails', 'auditDetails'];
/** Parts that applications request together with the others; they are empty here. */
const EMPTY_PARTS = [
  'brandingSettings',
  'contentOwnerDetails',
  'localizations',
  'topicDetails',
  'player',
  'recordingDetails',
];
type Item = { readonly kind: string; readonly id: string } & Readonly<Record<string, unknown>>;
/** Only the parts asked for. An unknown part is refused by name (spec/sign-in#check-8.10). */
const selectParts = (access: Access, part: string, items: readonly Item[]): Item[] => {
  const parts = part.split(',').map((name) => name.trim());
  const unknown = parts.find((name) => !PARTS.includes(name) && !EMPTY_PARTS.includes(name));
  if (unknown !== undefined || part === '')
    refuse(400, 'unknownPart', `part: "${unknown ?? ''}" is not one of ${PARTS.join(', ')}`);
  for (const [name, scope] of Object.entries(partScopes))
    if (parts.includes(name)) needScope(access, [scope]);
  return items.map(
    (item) =>
      Object.fromEntries(
        Object.entries(item).filter(([key]) => key === 'kind' || parts.includes(key) || key === 'id'),
      ) as Item,
  );
};
const list = (kind: string, items: Item[]) => ({
  kind,
  etag: base64url(Buffer.from(JSON.stringify(items.map(({ id }) => id)))).slice(0, 27),
  pageInfo: { totalResults: items.length, resultsPerPage: items.length },
  items,
});
const day = (ms: number): string => new Date(ms).toISOString();
const channelsOf = (auth: Auth, user: User): Item[] =>
  Array.from({ length: user.channels }, (_, i) => ({
    kind: 'media#channel',
    id: `ch-${user.id}-${i + 1}`,
    snippet: {
      title: user.channels === 1 ? user.name : `${user.name} ${i + 1}`,
      publishedAt: day(user.created_at),
    },
    status: { privacyStatus: 'public', isLinked: true },
    statistics: {
      videoCount: String(i === 0 ? auth.videos.filter((video) => video.user === user.id).length : 0),
      viewCount: '0',
    },
    contentDetails: { relatedPlaylists: { uploads: `up-${user.id}-${i + 1}` } },
    auditDetails: {
      overallGoodStanding: true,
      communityGuidelinesGoodStanding: true,
      copyrightStrikesGoodStanding: true,
    },
  }));
const videoItem = (video: Video): Item => ({
  kind: 'media#video',
  id: video.id,
  snippet: { title: video.title, description: video.description, publishedAt: day(video.created_at) },
  status: { privacyStatus: 'private' },
  contentDetails: { duration: 'PT0S', definition: 'hd' },
  statistics: { viewCount: '0' },
});
const membersOf = (user: User): Item[] => [
  {
    kind: 'media#member',
    id: `member-${user.id}-1`,
    snippet: { displayName: 'First Member', level: 'Gold', memberSince: day(user.created_at) },
  },
];
const selectItems = (ids: string | undefined, items: Item[]): Item[] =>
  ids === undefined ? items : items.filter(({ id }) => ids.split(',').includes(id));
/** Parameters that real clients send and that have no effect on such short lists. */
const UNUSED = ['hl', 'managedByMe', 'maxResults', 'onBehalfOfContentOwner', 'pageToken'];
type State = { readonly auth: Auth };
type MediaCall = Pick<Call<State>, 'request' | 'named'> & { readonly state: State };
const enter = (call: MediaCall): Caller => {
  const caller = callerOf(call.state.auth, call.request);
  needScope(caller.access, mediaScopes[`${call.named.resource}.${call.named.verb}`] ?? []);
  return caller;
};
const handlers: Handlers<typeof mediaTable, State> = {
  channels: {
    list: (call) => {
      const { access, user } = enter(call);
      return list(
        'media#channelListResponse',
        selectParts(access, call.query.part, selectItems(call.query.id, channelsOf(call.state.auth, user))),
      ) as never;
    },
  },
  members: {
    list: (call) => {
      const { access, user } = enter(call);
      return list('media#memberListResponse', selectParts(access, call.query.part, membersOf(user))) as never;
    },
  },
  videos: {
    list: (call) => {
      const { access, user } = enter(call);
      const mine = call.state.auth.videos.filter((video) => video.user === user.id).map(videoItem);
      return list(
        'media#videoListResponse',
        selectParts(access, call.query.part, selectItems(call.query.id, mine)),
      ) as never;
    },
    create: (call) => {
      const { user } = enter(call);
      const { auth } = call.state;
      const id = base64url(auth.env.random(8));
      const video: Video = {
        id,
        user: user.id,
        title: call.body.title,
        description: call.body.description ?? '',
        created_at: auth.env.now(),
      };
      auth.videos.put(id, video);
      return videoItem(video) as never;
    },
    delete: (call) => {
      const { user } = enter(call);
      if (call.state.auth.videos.get(call.query.id)?.user !== user.id)
        refuse(404, 'videoNotFound', 'The video was not found.');
      call.state.auth.videos.delete(call.query.id);
      return undefined;
    },
  },
  assets: {
    list: (call) => {
      const { access, user } = enter(call);
      const assets = [
        { kind: 'media#asset', id: `asset-${user.id}-1`, snippet: { title: 'First Asset', type: 'web' } },
      ];
      return list('media#assetListResponse', selectParts(access, call.query.part, assets)) as never;
    },
  },
};
/**
 * spec/sign-in#data-api: the data API. No CORS headers: a script in a foreign page cannot read a response.
 */
export const makeMedia = (auth: Auth) =>
  tableService<typeof mediaTable, State>({
    service: media,
    handlers,
    state: { auth },
    env: auth.env,
    admit: (request) => void callerOf(auth, request),
    refusal,
    commonQuery: new Set(['access_token', 'alt', 'fields', 'key', 'prettyPrint', 'quotaUser', ...UNUSED]),
  });
