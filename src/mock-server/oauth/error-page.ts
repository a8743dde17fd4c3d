import { authorizationErrors, otherPageErrors } from '../../api-specs/oauth/errors.ts';
import type { MockReply } from '../service.ts';
import type { OAuthPageError } from './errors.ts';
import { html } from '../html.ts';
import { pageReply } from './layout.ts';

/** spec/sign-in#errors: "shown to the user instead of the flow". The code stands in the text; nothing of the request becomes HTML. */
export const errorPage = (refusal: OAuthPageError): MockReply => {
  const row = { ...authorizationErrors, ...otherPageErrors }[refusal.code];
  const reply = pageReply({
    status: row.status,
    title: `Error ${row.status}: ${refusal.code}`,
    body: html`<h1>${row.title}</h1>
<p>${row.says}</p>
<p class="alert" role="alert">Error ${row.status}: <code>${refusal.code}</code></p>
<p class="small">${refusal.message}</p>
<details open><summary>What to do</summary><ul class="small">${row.remedies.map((remedy) => html`<li>${remedy}</li>`)}</ul></details>
<p class="soft small">You can close this window.</p>`,
  });
  return refusal.code === 'method_not_allowed'
    ? { ...reply, headers: { ...reply.headers, allow: 'GET' } }
    : reply;
};
