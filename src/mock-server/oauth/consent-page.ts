import { authPaths } from '../../api-specs/oauth/endpoints.ts';
import { scopeRow } from '../../api-specs/oauth/scopes.ts';
import type { MockReply } from '../service.ts';
import type { User } from './state.ts';
import { type Html, html } from '../html.ts';
import { formTarget, pageReply } from './layout.ts';
import { type Step, accountLine, hidden } from './pages.ts';

/** spec/sign-in#token-4: how long the user may grant, in seconds; 0 is without end. */
export const accessTimes: readonly { readonly seconds: number; readonly says: string }[] = [
  { seconds: 0, says: 'until I remove it' },
  { seconds: 3600, says: 'for one hour' },
  { seconds: 86_400, says: 'for one day' },
  { seconds: 604_800, says: 'for seven days' },
  { seconds: 2_592_000, says: 'for 30 days' },
];

const says = (scope: string): Html =>
  html`<span>${scopeRow(scope)?.consent ?? scope}<small>${scope}</small></span>`;
const boxes = (scopes: readonly string[]): Html => html`<fieldset><legend>Choose what it may do</legend>
${scopes.map((scope, i) => html`<label class="scope" for="scope${i}"><input type="checkbox" id="scope${i}" name="scope" value="${scope}" checked>${says(scope)}</label>`)}</fieldset>`;
const plainList = (scopes: readonly string[]): Html =>
  html`<ul class="plain">${scopes.map((scope) => html`<li>${says(scope)}</li>`)}</ul>`;

/** spec/sign-in#authentication-5: a checkbox for each of several scopes; trusted and domain-wide apps get all or none. */
export const consentPage = (step: Step, user: User, scopes: readonly string[]): MockReply => {
  const isGranular = scopes.length > 1 && step.client.trust === 'none';
  return pageReply({
    status: 200,
    title: `${step.client.name} asks for access`,
    formTargets: formTarget(step.redirectUri),
    cookies: step.cookies,
    body: html`${accountLine(user)}
<h1>${step.client.name} wants to access your account</h1>
<p class="soft small">${step.client.verified_by === null ? 'The ownership of this application is not verified.' : 'The ownership of this application is verified.'}</p>
<form method="post" action="${authPaths.authorize}/consent">${hidden(step)}
${isGranular ? boxes(scopes) : html`<p>This will allow it to:</p>${plainList(scopes)}`}
<label for="access_for">Keep this access</label>
<select id="access_for" name="access_for">${accessTimes.map((time) => html`<option value="${time.seconds}">${time.says}</option>`)}</select>
<div class="row"><button class="main" name="decision" value="allow">Allow</button><button name="decision" value="deny">Deny</button></div>
</form>
<details><summary>Where you go next</summary><p class="small">You are sent back to <code>${step.redirectUri}</code></p></details>`,
  });
};
