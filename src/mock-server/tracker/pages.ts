import { hash } from 'node:crypto';
import { escapeHtml, Html, html } from '../../core/text.ts';
import { HttpError } from '../body.ts';
import {
  type MockReply,
  type MockRequest,
  pageHeaders,
  type Environment,
  type SeedKind,
} from '../service-set.ts';
import type { Collection } from '../store.ts';
import { trackerHandlers } from './handlers.ts';
import type { Tracker } from './state.ts';
import { authPaths, demo } from '../../api-specs/oauth/endpoints.ts';

type Row = Readonly<Record<string, unknown>>;
type Kind = {
  readonly title: string;
  readonly resource: keyof typeof trackerHandlers;
  readonly param: string;
  readonly records: (state: Tracker) => Collection<any>;
  readonly isUuid?: true;
};
/** Records with an `app_url`, by the word in the URL, and the endpoint that shows the record. */
const kinds: Readonly<Record<string, Kind>> = {
  story: {
    title: 'Stories',
    resource: 'stories',
    param: 'story-public-id',
    records: ({ stories }) => stories,
  },
  epic: { title: 'Epics', resource: 'epics', param: 'epic-public-id', records: ({ epics }) => epics },
  objective: {
    title: 'Objectives',
    resource: 'objectives',
    param: 'objective-public-id',
    records: ({ objectives }) => objectives,
  },
  iteration: {
    title: 'Iterations',
    resource: 'iterations',
    param: 'iteration-public-id',
    records: ({ iterations }) => iterations,
  },
  label: { title: 'Labels', resource: 'labels', param: 'label-public-id', records: ({ labels }) => labels },
  project: {
    title: 'Projects',
    resource: 'projects',
    param: 'project-public-id',
    records: ({ projects }) => projects,
  },
  team: {
    title: 'Groups',
    resource: 'groups',
    param: 'group-public-id',
    records: ({ groups }) => groups,
    isUuid: true,
  },
  document: {
    title: 'Documents',
    resource: 'documents',
    param: 'doc-public-id',
    records: ({ documents }) => documents,
    isUuid: true,
  },
};
/** Records that one list of the workspace's page holds. */
const LISTED = 50;
type Getter = (call: unknown) => Row;
const nameOf = (record: Row): string => String(record.name ?? record.title ?? record.id);
/**
 * Returns a record in the form of its endpoint; undefined if the kind is unknown. The endpoint reports a
 * missing record.
 */
const recordShown = (
  state: Tracker,
  kind: string,
  id: string,
): { title: string; about: string; record: Row } | undefined => {
  const found = Object.hasOwn(kinds, kind) ? kinds[kind] : undefined;
  if (found === undefined || !/^[\w-]{1,40}$/.test(id)) return undefined;
  const get = (trackerHandlers[found.resource] as unknown as { get: Getter }).get;
  const params = { [found.param]: found.isUuid ? id : Number(id) };
  const record = get({ state, params, query: {}, body: {}, env: state.env, headers: {} });
  return { title: nameOf(record), about: `${kind} ${id}`, record };
};
/** The workspace's page: the newest of each kind. */
const recordsListed = (state: Tracker) =>
  Object.entries(kinds).map(([kind, { title, records }]) => {
    const all = records(state);
    const newest = [...all.values()].slice(-LISTED).reverse() as Row[];
    return {
      title,
      count: all.size,
      rows: newest.map((record) => ({
        path: `${kind}/${record.id}`,
        name: nameOf(record),
        about: `${record.archived === true ? 'archived ' : ''}${record.id}`,
      })),
    };
  });
/** The page of a record that another one names by its id. */
const pathOf = (state: Tracker, kind: string, id: unknown): { path: string; name: string } | undefined => {
  const record = kinds[kind]?.records(state).get(id as never) as Row | undefined;
  return record === undefined ? undefined : { path: `${kind}/${id}`, name: nameOf(record) };
};

/** One stylesheet, inline, so that a page is a single response and loads no other resources. */
const pageStyle = `
:root{color-scheme:light dark;--ground:#f6f7f9;--card:#fff;--text:#1b1f24;--soft:#5b6470;--line:#dfe3e8;--accent:#2257c9}
@media(prefers-color-scheme:dark){:root{--ground:#101317;--card:#191d23;--text:#e8ebef;--soft:#a3adba;--line:#2e353e;--accent:#8ab0ff}}
*{box-sizing:border-box}body{margin:0;background:var(--ground);color:var(--text);font:15px/1.5 system-ui,sans-serif}
header{display:flex;justify-content:space-between;padding:12px 24px;border-bottom:1px solid var(--line);background:var(--card)}header span,small,.kind,dt{color:var(--soft)}
main{max-width:960px;margin:24px auto;padding:0 24px 48px}a{color:var(--accent)}
h1{font-size:24px;line-height:1.25;margin:0 0 16px;overflow-wrap:anywhere}h2{font-size:16px;margin:24px 0 4px}.kind{margin:0}
section,dl.record{background:var(--card);border:1px solid var(--line);border-radius:12px;padding:12px 20px;margin:0 0 16px}section h2{margin-top:4px}
dl{display:grid;grid-template-columns:minmax(140px,max-content) 1fr;gap:4px 20px;margin:0}dd{margin:0;overflow-wrap:anywhere}dd dl{border-left:2px solid var(--line);padding-left:12px;margin:2px 0 8px}
ul{margin:0;padding-left:18px}pre{white-space:pre-wrap;overflow-wrap:anywhere;font:inherit;margin:0}code{font-family:ui-monospace,monospace}
.dot{display:inline-block;width:10px;height:10px;border-radius:50%;margin-right:6px}
@media(max-width:600px){dl{grid-template-columns:1fr;gap:0}dd{margin-bottom:8px}main{padding:0 12px 32px}}
`.trim();
const pageStyleHash = `'sha256-${hash('sha256', pageStyle, 'base64')}'`;

/** Fields that name another record, and the page it has. */
const referred: Readonly<Record<string, string>> = {
  epic_id: 'epic',
  group_id: 'team',
  group_mention_ids: 'team',
  group_ids: 'team',
  iteration_id: 'iteration',
  label_ids: 'label',
  mention_ids: 'team',
  milestone_id: 'objective',
  object_id: 'story',
  objective_ids: 'objective',
  parent_story_id: 'story',
  previous_iteration_ids: 'iteration',
  project_id: 'project',
  project_ids: 'project',
  sub_task_story_ids: 'story',
  story_ids: 'story',
  subject_id: 'story',
};
/** Already in the heading, or in the related records. */
const HIDDEN: ReadonlySet<string> = new Set(['app_url', 'entity_type', 'name', 'title', 'value_id']);
const isEmpty = (value: unknown): boolean =>
  value === undefined || value === null || value === '' || (Array.isArray(value) && value.length === 0);
const heading = (field: string): string => field.replace(/_ids?$/, '').replaceAll('_', ' ');
/** The name of a member, of a state of a workflow, or a link to the page of a record; else the id itself. */
const nameRecord = (state: Tracker, field: string, id: unknown): Html => {
  const page = referred[field] === undefined ? undefined : pathOf(state, referred[field], id);
  if (page !== undefined) return html`<a href="/app/${page.path}">${page.name}</a>`;
  const custom = field === 'field_id' ? state.customFields.get(String(id)) : undefined;
  if (custom !== undefined) return html`${custom.name}`;
  const member = typeof id === 'string' ? state.members.get(id) : undefined;
  if (member !== undefined)
    return html`${member.profile.name} <small>@${member.profile.mention_name}</small>`;
  const states = [...state.workflows.values()].flatMap((workflow) => workflow.states);
  const epicStates = [...state.epicWorkflow.values()].flatMap((workflow) => workflow.epic_states);
  const found =
    field === 'workflow_state_id'
      ? states.find((one) => one.id === id)
      : field === 'epic_state_id'
        ? epicStates.find((one) => one.id === id)
        : undefined;
  return found === undefined ? html`${String(id)}` : html`${found.name}`;
};
const COLOR = /^#(?:[0-9a-f]{3,4}|[0-9a-f]{6}|[0-9a-f]{8})$/i;
/**
 * A color is also drawn. SVG accepts it as an attribute: an inline style would need an exception in the
 * content policy of the page.
 */
const text = (value: string): Html =>
  COLOR.test(value)
    ? html`<svg class="dot" viewBox="0 0 2 2" aria-hidden="true"><circle cx="1" cy="1" r="1" fill="${value}"/></svg>${value}`
    : html`<pre>${value}</pre>`;
const renderValue = (state: Tracker, field: string, value: unknown): Html => {
  if (Array.isArray(value))
    return html`<ul>${value.map((one) => html`<li>${renderValue(state, field, one)}</li>`)}</ul>`;
  if (typeof value === 'object' && value !== null) {
    const { name } = value as Row;
    return html`${typeof name === 'string' ? html`<b>${name}</b>` : ''}<dl>${rows(state, value as Row)}</dl>`;
  }
  if (/_ids?$/.test(field)) return nameRecord(state, field, value);
  return typeof value === 'string' ? text(value) : html`${String(value)}`;
};
/** The description is the main content. Labels are already linked if their IDs are known. */
const inOrder = ({ description, ...rest }: Row): [string, unknown][] =>
  Object.entries({ description, ...rest }).filter(
    ([field, value]) => !HIDDEN.has(field) && !isEmpty(value) && !(field === 'labels' && 'label_ids' in rest),
  );
/** spec/tracker#choices-16: of several groups of an epic or an iteration, the web interface shows the first. */
const shownPart = (field: string, value: unknown): unknown =>
  field === 'group_ids' && Array.isArray(value) ? value.slice(0, 1) : value;
const rows = (state: Tracker, record: Row): Html[] =>
  inOrder(record).map(
    ([field, value]) =>
      html`<dt>${heading(field)}</dt><dd>${renderValue(state, field, shownPart(field, value))}</dd>`,
  );
/** All fields that have a value, in the order of the endpoint; every text of the workspace is escaped. */
const fieldsShown = (state: Tracker, record: Row): Html =>
  html`<dl class="record">${rows(state, record)}</dl>`;

/** Below this path every `app_url` is. */
export const PAGES = '/app';
type PageHeader = { readonly href: string; readonly name: string; readonly note: string };
const trackerHeader: PageHeader = { href: PAGES, name: 'opsctl mock tracker', note: 'read only' };
/** A page in the style of the mock server, which loads no resources and runs no script. */
const showPage = (
  status: number,
  title: string,
  body: Html,
  header: PageHeader = trackerHeader,
): MockReply => ({
  status,
  headers: { ...pageHeaders(pageStyleHash), 'content-type': 'text/html; charset=utf-8' },
  body: html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1"><meta name="robots" content="noindex"><title>${title}</title><style>${new Html(pageStyle)}</style></head>
<body><header><a href="${header.href}">${header.name}</a><span>${header.note}</span></header><main>
${body}
</main></body></html>
`.text,
});
const notFound = (path: string): MockReply =>
  showPage(404, 'Not found', html`<h1>Not found</h1><p>There is no record at <code>${path}</code>.</p>`);
const listPage = (state: Tracker): MockReply =>
  showPage(
    200,
    'opsctl mock tracker',
    html`<h1>Workspace</h1>${recordsListed(state).map(
      ({ title, count, rows }) =>
        html`<section><h2>${title} <small>${count}</small></h2><ul>${rows.map(
          ({ path, name, about }) =>
            html`<li><a href="${PAGES}/${path}">${name}</a> <small>${about}</small></li>`,
        )}</ul>${count > rows.length ? html`<p><small>the newest ${rows.length} are listed</small></p>` : ''}</section>`,
    )}`,
  );
/**
 * The read-only page of a record, for users who follow an `app_url` in a report. It has no script and no
 * form.
 */
export const page = (state: Tracker, { path, method }: MockRequest): MockReply => {
  if (method !== 'GET')
    return {
      status: 405,
      headers: { allow: 'GET, HEAD' },
      body: `${escapeHtml(method)} is not possible here\n`,
    };
  const parts = path.split('/').slice(2);
  if (parts.length === 0 || parts[0] === '') return listPage(state);
  try {
    const [kind = '', id = ''] = parts;
    const shown = parts.length === 2 ? recordShown(state, kind, id) : undefined;
    if (shown === undefined) return notFound(path);
    const { title, about, record } = shown;
    return showPage(
      200,
      title,
      html`<p class="kind">${about}</p><h1>${title}</h1>${fieldsShown(state, record)}`,
    );
  } catch (error) {
    if (error instanceof HttpError) return notFound(path);
    throw error;
  }
};

const accounts = (seed: SeedKind) =>
  seed === 'demo'
    ? html`<ul>${demo.users.map(
        ({ email, name, password }) =>
          html`<li>${name}: <code>${email}</code>, password <code>${password}</code></li>`,
      )}</ul><p><small>These accounts exist only on this server. <code>opsctl mock oauth users create</code> adds another one.</small></p>`
    : html`<p>The state has no demo accounts. Run <code>opsctl mock oauth users create --email EMAIL</code> to create an account.</p>`;
/** The page that people see at the root of the server. Only this machine can read it. */
export const homePage = (env: Environment, seed: SeedKind, documents: readonly string[]): MockReply =>
  showPage(
    200,
    'opsctl mock server',
    html`<h1>opsctl mock server</h1>
<p>This server imitates the tracker, the label service, the authorization server and the data API. Nothing here reaches a real service.</p>
<section><h2>Open in the browser</h2><ul>
<li><a href="/app">Stories, epics and other tracker records</a></li>
<li><a href="${authPaths.console}/console">Developer console: clients, users, grants</a></li>
<li><a href="${authPaths.metadata}">Metadata of the authorization server</a></li>
</ul></section>
<section><h2>Demo accounts</h2>${accounts(seed)}</section>
<section><h2>Base URLs</h2><dl>
<dt>Tracker</dt><dd><code>${env.origin()}/api/v3</code></dd>
<dt>Labels</dt><dd><code>${env.origin()}/v2beta</code></dd>
<dt>Data API</dt><dd><code>${env.origin()}${authPaths.media}</code></dd>
<dt>Tokens</dt><dd><code>opsctl mock env</code> prints them for a shell</dd>
</dl></section>
<section><h2>Documents for programs</h2><ul>${documents
      .filter((path) => path !== '/')
      .map((path) => html`<li><a href="${path}">${path}</a></li>`)}</ul></section>`,
    { href: '/', name: 'opsctl mock server', note: env.origin() },
  );
