import { authPaths, demo } from '../api-specs/oauth/endpoints.ts';
import { html } from '../core/text.ts';
import type { Environment, MockReply, SeedKind } from './service-set.ts';
import { showPage } from './tracker/pages.ts';

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
