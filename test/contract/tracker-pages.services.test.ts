import { beforeEach, expect, test } from 'vitest';
import { type TrackerServer, startTracker } from '../support/tracker-server.ts';

let server: TrackerServer;
beforeEach(async () => {
  server = await startTracker({}, 'demo', Date.parse('2026-03-01T10:00:00Z'));
});
const pageOf = async (url: string) => {
  const response = await fetch(url.startsWith('http') ? url : `${server.mock.origin}${url}`);
  return { status: response.status, headers: response.headers, text: await response.text() };
};

test('every app_url leads to a page of its record', async () => {
  const { ask } = server;
  await ask('POST', '/documents', { title: 'Runbook', content: '# Start' });
  for (const list of ['epics', 'labels', 'iterations', 'objectives', 'projects', 'groups', 'documents']) {
    const [{ app_url: url, name, title }] = (await ask('GET', `/${list}`)).body;
    const page = await pageOf(url);
    expect([list, page.status, page.text.includes(name ?? title)]).toEqual([list, 200, true]);
  }
  const story = (await ask('GET', '/stories/107')).body;
  const page = await pageOf(story.app_url);
  expect(page.text).toContain(`<h1>${story.name}</h1>`);
  expect(page.text).toMatch(/<a href="\/app\/epic\/106">/);
  const workspace = await pageOf('/app');
  expect(workspace.text).toContain('href="/app/story/107"');
});

test('user text is escaped, and the page runs no script', async () => {
  const evil = `<script>alert(1)</script><img src=x onerror="a">'"`;
  const { body } = await server.ask('POST', '/stories', {
    name: evil,
    description: evil,
    external_links: ['javascript:alert(1)'],
  });
  for (const path of ['/app', `/app/story/${body.id}`]) {
    const { text, headers } = await pageOf(path);
    expect(text).not.toMatch(/<script|<img|href="javascript/i);
    expect(text).toContain('&lt;script&gt;');
    expect(headers.get('content-security-policy')).toMatch(/^default-src 'none'; style-src 'sha256-/);
    expect(headers.get('x-frame-options')).toBe('DENY');
  }
});

test('a missing page is 404, and a method other than reading is 405', async () => {
  for (const path of ['/app/story/999999', '/app/nothing/1', '/app/story/107/more', '/app/constructor/1'])
    expect((await pageOf(path)).status, path).toBe(404);
  const posted = await fetch(`${server.mock.origin}/app/story/107`, { method: 'POST' });
  expect([posted.status, posted.headers.get('allow')]).toEqual([405, 'GET, HEAD']);
});
