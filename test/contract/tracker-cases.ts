import type { TrackerServer } from '../support/tracker-server.ts';

/** Identifiers of the demo seed, as its responses show them. */
export const OWNER = '11111111-0000-4000-8000-000000000001';
export const BEN = '11111111-0000-4000-8000-000000000002';
export const PRIORITY = '33333333-0000-4000-8000-000000000001';
export const AREA = '33333333-0000-4000-8000-000000000002';
export const LOW = '44444444-0000-4000-8000-000000000011';
export const MEDIUM = '44444444-0000-4000-8000-000000000012';
export const HIGH = '44444444-0000-4000-8000-000000000013';
export const KEY_RESULT = '55555555-0000-4000-8000-000000000002';
export const KEY_RESULT_BOOLEAN = '55555555-0000-4000-8000-000000000001';
export const GROUP = '66666666-0000-4000-8000-000000000001';
export const TEMPLATE = '77777777-0000-4000-8000-000000000001';
export const OBJECTIVE = 102;
export const EPIC = 106;
export const STORY = 107;
export const NO_UUID = 'ffffffff-0000-4000-8000-000000000000';
export const NO_ID = 987654321;

export const upload = (names: readonly string[] = ['a.txt'], storyId?: number): FormData => {
  const form = new FormData();
  if (storyId !== undefined) form.set('story_id', String(storyId));
  for (const [at, name] of names.entries())
    form.set(`file${at}`, new Blob([`content of ${name}`], { type: 'text/plain' }), name);
  return form;
};

type Case = {
  /** The path with real ids, or a function that first creates the records. */
  readonly path: string | ((server: TrackerServer) => Promise<string>);
  readonly body?: Readonly<Record<string, unknown>> | (() => FormData);
};
const made =
  (at: string, body: unknown, path: (id: any, record: any) => string) =>
  async (server: TrackerServer): Promise<string> => {
    const { body: record, headers } = await server.ask('POST', at, body);
    const first = Array.isArray(record) ? record[0] : record;
    return path(first?.id ?? headers.get('location')?.split('/').pop(), first);
  };
const aFile = (path: (id: number) => string) => async (server: TrackerServer) =>
  path((await server.ask('POST', '/files', upload())).body[0].id);
const LINK = { name: 'Plan', type: 'url', url: 'https://files.example.com/plan.pdf' };
const HOOK = { webhook_url: 'http://127.0.0.1:9/none' };

/** A successful request for each endpoint; the body contains only the required keys. */
export const cases: Readonly<Record<string, Case>> = {
  'GET /categories': { path: '/categories' },
  'POST /categories': { path: '/categories', body: { name: 'Quality' } },
  'GET /categories/{category-public-id}': { path: '/categories/101' },
  'PUT /categories/{category-public-id}': { path: '/categories/101', body: {} },
  'DELETE /categories/{category-public-id}': { path: '/categories/101' },
  'GET /categories/{category-public-id}/milestones': { path: '/categories/101/milestones' },
  'GET /categories/{category-public-id}/objectives': { path: '/categories/101/objectives' },
  'GET /custom-fields': { path: '/custom-fields' },
  'GET /custom-fields/{custom-field-public-id}': { path: `/custom-fields/${PRIORITY}` },
  'PUT /custom-fields/{custom-field-public-id}': { path: `/custom-fields/${PRIORITY}`, body: {} },
  'DELETE /custom-fields/{custom-field-public-id}': { path: `/custom-fields/${AREA}` },
  'GET /documents': { path: '/documents' },
  'POST /documents': { path: '/documents', body: { title: 'Notes', content: '# Notes' } },
  'GET /entity-templates': { path: '/entity-templates' },
  'POST /entity-templates': { path: '/entity-templates', body: { name: 'Chore', story_contents: {} } },
  'PUT /entity-templates/disable': { path: '/entity-templates/disable' },
  'PUT /entity-templates/enable': { path: '/entity-templates/enable' },
  'GET /entity-templates/{entity-template-public-id}': { path: `/entity-templates/${TEMPLATE}` },
  'PUT /entity-templates/{entity-template-public-id}': { path: `/entity-templates/${TEMPLATE}`, body: {} },
  'DELETE /entity-templates/{entity-template-public-id}': { path: `/entity-templates/${TEMPLATE}` },
  'GET /epic-workflow': { path: '/epic-workflow' },
  'GET /epics': { path: '/epics' },
  'POST /epics': { path: '/epics', body: { name: 'Reports' } },
  'GET /epics/paginated': { path: '/epics/paginated' },
  'GET /epics/{epic-public-id}': { path: '/epics/106' },
  'PUT /epics/{epic-public-id}': { path: '/epics/106', body: {} },
  'DELETE /epics/{epic-public-id}': { path: '/epics/106' },
  'GET /epics/{epic-public-id}/comments': {
    path: made('/epics/106/comments', { text: 'hi' }, () => '/epics/106/comments'),
  },
  'POST /epics/{epic-public-id}/comments': { path: '/epics/106/comments', body: { text: 'Looks good' } },
  'GET /epics/{epic-public-id}/comments/{comment-public-id}': {
    path: made('/epics/106/comments', { text: 'hi' }, (id) => `/epics/106/comments/${id}`),
  },
  'POST /epics/{epic-public-id}/comments/{comment-public-id}': {
    path: made('/epics/106/comments', { text: 'hi' }, (id) => `/epics/106/comments/${id}`),
    body: { text: 'Agreed' },
  },
  'PUT /epics/{epic-public-id}/comments/{comment-public-id}': {
    path: made('/epics/106/comments', { text: 'hi' }, (id) => `/epics/106/comments/${id}`),
    body: { text: 'Changed' },
  },
  'DELETE /epics/{epic-public-id}/comments/{comment-public-id}': {
    path: made('/epics/106/comments', { text: 'hi' }, (id) => `/epics/106/comments/${id}`),
  },
  'GET /epics/{epic-public-id}/health': {
    path: made('/epics/106/health', { status: 'On Track' }, () => '/epics/106/health'),
  },
  'POST /epics/{epic-public-id}/health': { path: '/epics/106/health', body: { status: 'At Risk' } },
  'GET /epics/{epic-public-id}/health-history': {
    path: made('/epics/106/health', { status: 'On Track' }, () => '/epics/106/health-history'),
  },
  'GET /epics/{epic-public-id}/stories': { path: '/epics/106/stories?includes_description=true' },
  'POST /epics/{epic-public-id}/unlink-planningtool': { path: '/epics/106/unlink-planningtool' },
  'GET /files': { path: aFile(() => '/files') },
  'POST /files': { path: '/files', body: () => upload() },
  'GET /files/{file-public-id}': { path: aFile((id) => `/files/${id}`) },
  'PUT /files/{file-public-id}': { path: aFile((id) => `/files/${id}`), body: {} },
  'DELETE /files/{file-public-id}': { path: aFile((id) => `/files/${id}`) },
  'GET /linked-files': { path: made('/linked-files', LINK, () => '/linked-files') },
  'POST /linked-files': { path: '/linked-files', body: LINK },
  'GET /linked-files/{linked-file-public-id}': {
    path: made('/linked-files', LINK, (id) => `/linked-files/${id}`),
  },
  'PUT /linked-files/{linked-file-public-id}': {
    path: made('/linked-files', LINK, (id) => `/linked-files/${id}`),
    body: {},
  },
  'DELETE /linked-files/{linked-file-public-id}': {
    path: made('/linked-files', LINK, (id) => `/linked-files/${id}`),
  },
  'GET /external-link/stories': {
    path: '/external-link/stories?external_link=https%3A%2F%2Fdocs.example.com%2Fsign-up',
  },
  'GET /groups': { path: '/groups' },
  'POST /groups': { path: '/groups', body: { name: 'Design', mention_name: 'design' } },
  'GET /groups/{group-public-id}': { path: `/groups/${GROUP}` },
  'PUT /groups/{group-public-id}': { path: `/groups/${GROUP}`, body: {} },
  'GET /groups/{group-public-id}/stories': { path: `/groups/${GROUP}/stories` },
  'PUT /health/{health-public-id}': {
    path: made('/epics/106/health', { status: 'On Track' }, (id) => `/health/${id}`),
    body: {},
  },
  'POST /integrations/webhook': { path: '/integrations/webhook', body: HOOK },
  'GET /integrations/webhook/{integration-public-id}': {
    path: made('/integrations/webhook', HOOK, (id) => `/integrations/webhook/${id}`),
  },
  'DELETE /integrations/webhook/{integration-public-id}': {
    path: made('/integrations/webhook', HOOK, (id) => `/integrations/webhook/${id}`),
  },
  'GET /iterations': { path: '/iterations' },
  'POST /iterations': {
    path: '/iterations',
    body: { name: 'Sprint 2', start_date: '2026-03-02', end_date: '2026-03-15' },
  },
  'PUT /iterations/disable': { path: '/iterations/disable' },
  'PUT /iterations/enable': { path: '/iterations/enable' },
  'GET /iterations/{iteration-public-id}': { path: '/iterations/104' },
  'PUT /iterations/{iteration-public-id}': { path: '/iterations/104', body: {} },
  'DELETE /iterations/{iteration-public-id}': { path: '/iterations/104' },
  'GET /iterations/{iteration-public-id}/stories': {
    path: '/iterations/104/stories?includes_description=true',
  },
  'GET /key-results/{key-result-public-id}': { path: `/key-results/${KEY_RESULT}` },
  'PUT /key-results/{key-result-public-id}': { path: `/key-results/${KEY_RESULT}`, body: {} },
  'GET /labels': { path: '/labels' },
  'POST /labels': { path: '/labels', body: { name: 'bug' } },
  'GET /labels/{label-public-id}': { path: '/labels/105' },
  'PUT /labels/{label-public-id}': { path: '/labels/105', body: {} },
  'DELETE /labels/{label-public-id}': { path: '/labels/105' },
  'GET /labels/{label-public-id}/epics': { path: '/labels/105/epics' },
  'GET /labels/{label-public-id}/stories': { path: '/labels/105/stories?includes_description=true' },
  'GET /member': { path: '/member' },
  'GET /members': { path: '/members' },
  'GET /members/{member-public-id}': { path: `/members/${OWNER}` },
  'GET /projects': { path: '/projects' },
  'POST /projects': { path: '/projects', body: { name: 'App', team_id: 1 } },
  'GET /projects/{project-public-id}': { path: '/projects/103' },
  'PUT /projects/{project-public-id}': { path: '/projects/103', body: {} },
  'DELETE /projects/{project-public-id}': {
    path: made('/projects', { name: 'Old', team_id: 1 }, (id) => `/projects/${id}`),
  },
  'GET /projects/{project-public-id}/stories': { path: '/projects/103/stories?includes_description=true' },
  'GET /repositories': { path: '/repositories' },
  'GET /repositories/{repo-public-id}': { path: '/repositories/31' },
  'GET /objectives': { path: '/objectives' },
  'POST /objectives': { path: '/objectives', body: { name: 'Fewer refunds' } },
  'GET /objectives/{objective-public-id}': { path: '/objectives/102' },
  'PUT /objectives/{objective-public-id}': { path: '/objectives/102', body: {} },
  'DELETE /objectives/{objective-public-id}': { path: '/objectives/102' },
  'GET /objectives/{objective-public-id}/epics': { path: '/objectives/102/epics' },
  'GET /milestones': { path: '/milestones' },
  'POST /milestones': { path: '/milestones', body: { name: 'Fewer refunds' } },
  'GET /milestones/{milestone-public-id}': { path: '/milestones/102' },
  'PUT /milestones/{milestone-public-id}': { path: '/milestones/102', body: {} },
  'DELETE /milestones/{milestone-public-id}': { path: '/milestones/102' },
  'GET /milestones/{milestone-public-id}/epics': { path: '/milestones/102/epics' },
  'GET /search': { path: '/search?query=sign-up' },
};

/** Returns the path and body of a case, after it creates the required records. */
export const ready = async (
  server: TrackerServer,
  name: string,
): Promise<{ path: string; body: Record<string, unknown> | FormData | undefined }> => {
  const one = cases[name];
  if (one === undefined) throw new Error(`no case for ${name}`);
  const path = typeof one.path === 'string' ? one.path : await one.path(server);
  return { path, body: typeof one.body === 'function' ? one.body() : one.body };
};
