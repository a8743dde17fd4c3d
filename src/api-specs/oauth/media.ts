import { type Field, bool, help, int, list, map, maybe, any, record, req, str } from '../../core/field.ts';
import { type Service, type Table, op } from '../../core/operation.ts';

const page = record('Page', { totalResults: int(), resultsPerPage: int() });
const listOf = <const F extends Field>(name: string, item: F) =>
  record(name, { kind: str(), etag: str(), pageInfo: page, items: list(item) });
/** spec/sign-in: "Payload shapes of the data API resources: not shown"; every resource has kind, id and one object for each part asked for. */
const resource = (name: string) =>
  record(name, {
    kind: str(),
    id: str(),
    snippet: maybe(map(any())),
    status: maybe(map(any())),
    statistics: maybe(map(any())),
    auditDetails: maybe(map(any())),
    contentDetails: maybe(map(any())),
  });

const part = req(
  help(
    str(),
    'Parts of the response, separated by commas: id, snippet, status, statistics, contentDetails; channels also auditDetails',
  ),
);
const mine = help(bool(), 'Only resources of the signed-in user');

/** spec/sign-in#data-api: the data API. */
export const mediaTable = {
  channels: {
    list: op({
      method: 'GET',
      path: '/channels',
      summary: 'List channels',
      cites: 'spec/sign-in#data-api',
      query: { part, mine, id: help(str(), 'Channel IDs, separated by commas') },
      ok: 200,
      returns: listOf('ChannelList', resource('Channel')),
      cli: { columns: ['id', 'snippet.title', 'statistics.videoCount'] },
    }),
  },
  members: {
    list: op({
      method: 'GET',
      path: '/members',
      summary: 'List active channel members with level and start time',
      cites: 'spec/sign-in#scope-2',
      query: { part },
      ok: 200,
      returns: listOf('MemberList', resource('Member')),
      cli: { columns: ['id', 'snippet.displayName', 'snippet.level', 'snippet.memberSince'] },
    }),
  },
  videos: {
    list: op({
      method: 'GET',
      path: '/videos',
      summary: 'List videos',
      cites: 'spec/sign-in#scope-2',
      query: { part, mine, id: help(str(), 'Video IDs, separated by commas') },
      ok: 200,
      returns: listOf('VideoList', resource('Video')),
      cli: { columns: ['id', 'snippet.title', 'status.privacyStatus'] },
    }),
    create: op({
      method: 'POST',
      path: '/videos',
      summary: 'Add a video',
      cites: 'spec/sign-in#scope-2',
      body: { title: req(help(str(100, { min: 1 }), 'Title')), description: help(str(5000), 'Description') },
      ok: 200,
      returns: resource('Video'),
    }),
    delete: op({
      method: 'DELETE',
      path: '/videos',
      summary: 'Delete a video permanently',
      cites: 'spec/sign-in#scope-2',
      query: { id: req(help(str(), 'The video')) },
      ok: 204,
      cli: { confirm: 'Delete video {id} permanently?' },
    }),
  },
  assets: {
    list: op({
      method: 'GET',
      path: '/assets',
      summary: 'List assets of the partner account',
      cites: 'spec/sign-in#scope-2',
      query: { part },
      ok: 200,
      returns: listOf('AssetList', resource('Asset')),
      cli: { columns: ['id', 'snippet.title'] },
    }),
  },
} as const satisfies Table;

export const media = {
  name: 'media',
  title: 'Media Data API',
  version: '3',
  basePath: '/media/v3',
  tokenHeader: { name: 'Authorization', prefix: 'Bearer ' },
  table: mediaTable,
} as const satisfies Service;

/**
 * Scopes that permit each operation; one of them is enough. spec/sign-in#scope; spec/sign-in#check-4.5:
 * `media` covers `media.readonly`.
 */
export const mediaScopes: Readonly<Record<string, readonly string[]>> = {
  'channels.list': ['media', 'media.readonly', 'media.force-ssl'],
  'members.list': ['media.channel-memberships.creator'],
  'videos.list': ['media', 'media.readonly', 'media.force-ssl'],
  'videos.create': ['media', 'media.upload', 'media.force-ssl'],
  'videos.delete': ['media', 'media.force-ssl'],
  'assets.list': ['mediapartner'],
};
/** Parts that need an additional scope. spec/sign-in#scope-2 */
export const partScopes: Readonly<Record<string, string>> = { auditDetails: 'mediapartner-channel-audit' };
