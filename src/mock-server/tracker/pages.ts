import { pageHeaders } from '../page-headers.ts';
import { Html, escapedHtml, html } from '../html.ts';
import { HttpError } from '../http-error.ts';
import type { MockReply, MockRequest } from '../service.ts';
import { recordShown, recordsListed } from './page-records.ts';
import { pageStyle, pageStyleHash } from './page-style.ts';
import type { Tracker } from './state.ts';
import { fieldsShown } from './page-fields.ts';

/** Below this path every `app_url` is. */
export const PAGES = '/app';

const reply = (status: number, title: string, body: Html): MockReply => ({
  status,
  headers: { ...pageHeaders(pageStyleHash), 'content-type': 'text/html; charset=utf-8' },
  body: html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1"><meta name="robots" content="noindex"><title>${title}</title><style>${new Html(pageStyle)}</style></head>
<body><header><a href="${PAGES}">opsctl mock tracker</a><span>read only</span></header><main>
${body}
</main></body></html>
`.text,
});

const notFound = (path: string): MockReply =>
  reply(404, 'Not found', html`<h1>Not found</h1><p>There is no record at <code>${path}</code>.</p>`);

const listPage = (state: Tracker): MockReply =>
  reply(
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

/** The read-only page of a record, for people who follow an `app_url` in a report. No script, nothing to submit. */
export const page = (state: Tracker, { path, method }: MockRequest): MockReply => {
  if (method !== 'GET')
    return {
      status: 405,
      headers: { allow: 'GET, HEAD' },
      body: `${escapedHtml(method)} is not possible here\n`,
    };
  const parts = path.split('/').slice(2);
  if (parts.length === 0 || parts[0] === '') return listPage(state);
  try {
    const [kind = '', id = ''] = parts;
    const shown = parts.length === 2 ? recordShown(state, kind, id) : undefined;
    if (shown === undefined) return notFound(path);
    const { title, about, record } = shown;
    return reply(
      200,
      title,
      html`<p class="kind">${about}</p><h1>${title}</h1>${fieldsShown(state, record)}`,
    );
  } catch (error) {
    if (error instanceof HttpError) return notFound(path);
    throw error;
  }
};
