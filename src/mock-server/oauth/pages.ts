import { hash } from 'node:crypto';
import { authPaths, scopeRow } from '../../api-specs/oauth/endpoints.ts';
import { authorizationErrors, remainingPageErrors, type OAuthPageError } from './errors.ts';
import { Html, html } from '../../core/text.ts';
import { pageHeaders as commonHeaders, type MockReply } from '../service-set.ts';
import type { Client, User } from './state.ts';

/**
 * The one stylesheet of all pages, inline, so that a page is a single response and loads no other resources.
 */
const style = `
:root{color-scheme:light dark;--ground:#f4f5f7;--card:#fff;--text:#1b1f24;--soft:#5b6470;--line:#dfe3e8;--accent:#2257c9;--accent-text:#fff;--warn:#b3261e;--warn-ground:#fdeceb;--chip:#eef2fb}
@media(prefers-color-scheme:dark){:root{--ground:#101317;--card:#191d23;--text:#e8ebef;--soft:#a3adba;--line:#2e353e;--accent:#8ab0ff;--accent-text:#0d1b38;--warn:#ff9d94;--warn-ground:#3a1d1b;--chip:#222b3b}}
*{box-sizing:border-box}
body{margin:0;background:var(--ground);color:var(--text);font:16px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif;min-height:100vh;display:flex;flex-direction:column;align-items:center;justify-content:center;padding:24px 16px}
main{background:var(--card);border:1px solid var(--line);border-radius:16px;padding:32px;width:100%;max-width:460px;box-shadow:0 1px 3px rgba(0,0,0,.06),0 8px 28px rgba(0,0,0,.05)}
body.wide{justify-content:flex-start}body.wide main{max-width:1060px}
header{display:flex;align-items:center;gap:10px;color:var(--soft);font-size:14px;margin-bottom:18px}
.mark{width:28px;height:28px;border-radius:8px;background:var(--accent);color:var(--accent-text);display:grid;place-items:center;font-weight:700;font-size:15px}
h1{font-size:22px;line-height:1.25;margin:0 0 8px;letter-spacing:-.01em;overflow-wrap:anywhere}
h2{font-size:17px;margin:32px 0 8px}
h3{font-size:15px;margin:0}
p{margin:0 0 14px}p,li{overflow-wrap:anywhere}.soft{color:var(--soft)}.small{font-size:14px}
label{display:block;font-weight:600;font-size:14px;margin:14px 0 4px}
input[type=text],input[type=email],input[type=password],input[type=number],select{width:100%;font:inherit;color:inherit;background:var(--ground);border:1px solid var(--line);border-radius:10px;padding:10px 12px}
:focus-visible{outline:3px solid var(--accent);outline-offset:2px;border-radius:10px}
button{font:inherit;font-weight:600;border-radius:10px;padding:10px 18px;border:1px solid var(--line);background:transparent;color:var(--text);cursor:pointer;min-height:44px}
button.main{background:var(--accent);border-color:var(--accent);color:var(--accent-text)}button:hover{filter:brightness(.95)}
.row{display:flex;flex-direction:row-reverse;gap:12px;justify-content:flex-start;margin-top:22px;flex-wrap:wrap}
fieldset{border:0;padding:0;margin:18px 0 0;min-width:0}legend{font-weight:600;padding:0;margin-bottom:6px}
.scope{display:flex;gap:12px;align-items:flex-start;font-weight:400;font-size:15px;margin:0;padding:12px 0;border-top:1px solid var(--line);cursor:pointer}
.scope input{width:20px;height:20px;margin:2px 0 0;flex:none;accent-color:var(--accent)}
.scope small,li small{display:block;color:var(--soft)}.scope span,.pick span{min-width:0;overflow-wrap:anywhere}
ul.plain{list-style:none;padding:0;margin:0}ul.plain li{padding:12px 0;border-top:1px solid var(--line)}
.account{display:flex;align-items:center;gap:10px;background:var(--chip);border-radius:999px;padding:6px 14px 6px 6px;font-size:14px;max-width:100%;overflow-wrap:anywhere;margin-bottom:16px;width:fit-content}
.face{width:30px;height:30px;border-radius:50%;background:var(--accent);color:var(--accent-text);display:grid;place-items:center;font-weight:700;flex:none}
.pick{display:flex;gap:12px;align-items:center;width:100%;text-align:left;margin-bottom:8px;padding:10px 12px}
.alert code{background:transparent;padding:0}.alert{background:var(--warn-ground);color:var(--warn);border-radius:10px;padding:10px 14px;margin:0 0 14px;font-size:15px}
code,.code{font:13px/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;background:var(--chip);border-radius:6px;padding:2px 6px;overflow-wrap:anywhere}
details{margin-top:18px;border-top:1px solid var(--line);padding-top:12px}summary{cursor:pointer;font-weight:600;font-size:14px}
dl{display:grid;grid-template-columns:minmax(90px,auto) 1fr;gap:4px 14px;font-size:14px;margin:10px 0}dt{color:var(--soft)}dd{margin:0;overflow-wrap:anywhere}
.scroll{overflow-x:auto}table{border-collapse:collapse;width:100%;min-width:640px;font-size:14px}th,td{text-align:left;padding:8px 10px;border-top:1px solid var(--line);vertical-align:top}td:first-child{min-width:220px}th{color:var(--soft);font-weight:600;white-space:nowrap}
td form{display:inline}td button{padding:4px 10px;min-height:32px;font-size:13px}
.grid{display:grid;grid-template-columns:repeat(auto-fit,minmax(210px,1fr));gap:0 16px}
nav{display:flex;flex-wrap:wrap;gap:6px 16px;font-size:14px;margin-bottom:10px}a{color:var(--accent)}
footer{color:var(--soft);font-size:13px;margin-top:16px;text-align:center;max-width:460px}
@media(max-width:480px){body{padding:0;background:var(--card);justify-content:flex-start}main{border:0;border-radius:0;box-shadow:none;padding:24px 20px}footer{padding:0 20px 24px}.row button{flex:1}}
@media(prefers-reduced-motion:no-preference){button{transition:filter .12s}}
`.trim();
const styleHash = `'sha256-${hash('sha256', style, 'base64')}'`;

export type Page = {
  readonly status: number;
  readonly title: string;
  readonly body: Html;
  readonly isWide?: boolean;
  /**
   * Sources that a form of this page may lead to in addition to this server: browsers also check redirects
   * after a form.
   */
  readonly formTargets?: string;
  readonly cookies?: readonly string[];
};
/** In addition to this server, a form may lead to `formTargets`. */
export const pageHeaders = (formTargets = ''): Record<string, string> =>
  commonHeaders(styleHash, `'self'${formTargets}`);
const document = (page: Page): string =>
  html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1"><meta name="robots" content="noindex"><title>${page.title}</title><style>${new Html(style)}</style></head>
<body${page.isWide ? new Html(' class="wide"') : ''}><main><header><span class="mark" aria-hidden="true">o</span><span>opsctl embedded authorization service</span></header>
${page.body}
</main>${page.isWide ? '' : html`<footer>A local server for development. Never type a password here that you use for another service.</footer>`}</body></html>
`.text;
export const pageReply = (page: Page): MockReply => ({
  status: page.status,
  headers: {
    ...pageHeaders(page.formTargets),
    'content-type': 'text/html; charset=utf-8',
    ...(page.cookies && page.cookies.length > 0 ? { 'set-cookie': page.cookies } : {}),
  },
  body: document(page),
});
/**
 * The CSP source of a redirect URI. Browsers cannot read an IPv6 address in a source list, so `[::1]` becomes the
 * scheme; without this the consent form could not lead back to the application.
 */
export const formTarget = (redirectUri: string): string => {
  const scheme = /^[A-Za-z][A-Za-z0-9+.-]*:/.exec(redirectUri)?.[0] ?? '';
  if (!/^https?:$/.test(scheme) || redirectUri.includes('[')) return ` ${scheme}`;
  return ` ${/^https?:\/\/[^/?#]+/.exec(redirectUri)?.[0] ?? ''}`;
};

const submitScript = 'document.forms[0].submit()';
const submitHash = hash('sha256', submitScript, 'base64');
/** OAuth 2.0 Form Post Response Mode 2: the browser sends the response by itself; without scripts, the user presses the button. */
export const formPostPage = (
  redirectUri: string,
  fields: readonly (readonly [string, string])[],
  cookies: readonly string[],
): MockReply => {
  const inputs = fields.map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`);
  const page = pageReply({
    status: 200,
    title: 'Return to the application',
    cookies,
    formTargets: formTarget(redirectUri),
    body: html`<h1>Return to the application</h1>
<form method="post" action="${redirectUri}">${inputs}<div class="row"><button class="main">Continue</button></div></form>
<script>${new Html(submitScript)}</script>`,
  });
  const policy = String(page.headers?.['content-security-policy']);
  return {
    ...page,
    headers: { ...page.headers, 'content-security-policy': `${policy}; script-src 'sha256-${submitHash}'` },
  };
};

/** What every form of the flow carries: which request, and proof that this browser got the page. */
export type Step = {
  readonly request: string;
  readonly proof: string;
  readonly client: Client;
  readonly redirectUri: string;
  readonly cookies: readonly string[];
};
const hiddenInputs = (step: Pick<Step, 'request' | 'proof'>): Html =>
  html`<input type="hidden" name="request" value="${step.request}"><input type="hidden" name="proof" value="${step.proof}">`;
type SignIn = {
  readonly email: string;
  readonly problem?: string | undefined;
  /** Well-known accounts of the demo data. */
  readonly accounts: readonly { readonly email: string; readonly password: string }[];
};
const demoHint = (accounts: SignIn['accounts']): Html =>
  html`<details open><summary>Demo accounts</summary><dl>${accounts.map(({ email, password }) => html`<dt>${email}</dt><dd>password <code>${password}</code></dd>`)}</dl></details>`;
export const signInPage = (step: Step, { email, problem, accounts }: SignIn): MockReply =>
  pageReply({
    status: 200,
    title: 'Sign in',
    formTargets: formTarget(step.redirectUri),
    cookies: step.cookies,
    body: html`<h1>Sign in</h1>
<p class="soft">to continue to <strong>${step.client.name}</strong></p>
${problem !== undefined && html`<p class="alert" role="alert" id="problem">${problem}</p>`}
<form method="post" action="${authPaths.authorize}/signin">${hiddenInputs(step)}
<label for="email">E-mail address</label>
<input id="email" name="email" type="email" autocomplete="username" required value="${email}"${email === '' && html` autofocus`}>
<label for="password">Password</label>
<input id="password" name="password" type="password" autocomplete="current-password" required${email !== '' && html` autofocus`}>
<div class="row"><button class="main" name="decision" value="signin">Sign in</button><button name="decision" value="cancel" formnovalidate>Cancel</button></div>
</form>${accounts.length > 0 && demoHint(accounts)}`,
  });
const face = (user: User): Html =>
  html`<span class="face" aria-hidden="true">${(user.name || user.email).slice(0, 1).toUpperCase()}</span>`;
const accountLine = (user: User): Html =>
  html`<div class="account">${face(user)}<span>${user.email}</span></div>`;
/** Several accounts are signed in, or the application asked for a choice. */
export const chooserPage = (step: Step, users: readonly User[]): MockReply =>
  pageReply({
    status: 200,
    title: 'Choose an account',
    formTargets: formTarget(step.redirectUri),
    cookies: step.cookies,
    body: html`<h1>Choose an account</h1>
<p class="soft">to continue to <strong>${step.client.name}</strong></p>
<form method="post" action="${authPaths.authorize}/account">${hiddenInputs(step)}
${users.map((user) => html`<button class="pick" name="account" value="${user.id}">${face(user)}<span>${user.name === '' ? user.email : html`${user.name}<br><span class="soft small">${user.email}</span>`}</span></button>`)}
<button class="pick" name="account" value="other"><span class="face" aria-hidden="true">+</span><span>Use another account</span></button>
</form>`,
  });

/** spec/sign-in#token-4: how long the user may grant, in seconds; 0 is without end. */
export const accessTimes: readonly { readonly seconds: number; readonly says: string }[] = [
  { seconds: 0, says: 'until I remove it' },
  { seconds: 3600, says: 'for one hour' },
  { seconds: 86_400, says: 'for one day' },
  { seconds: 604_800, says: 'for seven days' },
  { seconds: 2_592_000, says: 'for 30 days' },
];
/** A scope that no table explains is shown once. */
const says = (scope: string): Html => {
  const consent = scopeRow(scope)?.consent;
  return html`<span>${consent ?? scope}${consent !== undefined && html`<small>${scope}</small>`}</span>`;
};
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
<form method="post" action="${authPaths.authorize}/consent">${hiddenInputs(step)}
${isGranular ? boxes(scopes) : html`<p>This will allow it to:</p>${plainList(scopes)}`}
<label for="access_for">Keep this access</label>
<select id="access_for" name="access_for">${accessTimes.map((time) => html`<option value="${time.seconds}">${time.says}</option>`)}</select>
<div class="row"><button class="main" name="decision" value="allow">Allow</button><button name="decision" value="deny">Deny</button></div>
</form>
<details><summary>Where you go next</summary><p class="small">You are sent back to <code>${step.redirectUri}</code></p></details>`,
  });
};

type DevicePage = {
  readonly userCode: string;
  /** Known once the code is. */
  readonly client?: string | undefined;
  readonly scopes?: readonly string[] | undefined;
  readonly problem?: string | undefined;
  readonly accounts: readonly { readonly email: string; readonly password: string }[];
};
/** RFC 8628 3.3: the user compares the code with the one on the device, signs in and decides. */
export const devicePage = ({ userCode, client, scopes, problem, accounts }: DevicePage): MockReply =>
  pageReply({
    status: problem === undefined ? 200 : 400,
    title: 'Connect a device',
    body: html`<h1>Connect a device</h1>
<p class="soft">Continue only when you started this yourself and the device shows the same code.</p>
${problem !== undefined && html`<p class="alert" role="alert" id="problem">${problem}</p>`}
${client !== undefined && html`<p><strong>${client}</strong> asks to:</p><ul class="plain">${(scopes ?? []).map((scope) => html`<li>${scopeRow(scope)?.consent ?? scope}</li>`)}</ul>`}
<form method="post" action="${authPaths.devicePage}">
<label for="user_code">Code on the device</label>
<input id="user_code" name="user_code" type="text" required autocomplete="off" value="${userCode}">
<label for="email">E-mail address</label>
<input id="email" name="email" type="email" autocomplete="username" required>
<label for="password">Password</label>
<input id="password" name="password" type="password" autocomplete="current-password" required>
<div class="row"><button class="main" name="decision" value="allow">Allow</button><button name="decision" value="deny">Deny</button></div>
</form>
${accounts.length > 0 && html`<details><summary>Demo accounts</summary><dl>${accounts.map(({ email, password }) => html`<dt>${email}</dt><dd>password <code>${password}</code></dd>`)}</dl></details>`}`,
  });
export const deviceDonePage = (isGranted: boolean): MockReply =>
  pageReply({
    status: 200,
    title: isGranted ? 'The device is connected' : 'Access was refused',
    body: html`<h1>${isGranted ? 'The device is connected' : 'Access was refused'}</h1>
<p>You can close this window and return to the device.</p>`,
  });

/**
 * spec/sign-in#errors: "shown to the user instead of the flow". The text contains the code; no part of the
 * request becomes HTML.
 */
export const errorPage = (refusal: OAuthPageError): MockReply => {
  const row = { ...authorizationErrors, ...remainingPageErrors }[refusal.code];
  const reply = pageReply({
    status: row.status,
    title: `Error ${row.status}: ${refusal.code}`,
    body: html`<h1>${row.title}</h1>
<p>${row.says}</p>
<p class="alert" role="alert">Error ${row.status}: <code>${refusal.code}</code></p>
<p class="small">${refusal.message}</p>
<details open><summary>What to do</summary><ul class="small">${(refusal.remedies ?? row.remedies).map((remedy) => html`<li>${remedy}</li>`)}</ul></details>
<p class="soft small">You can close this window.</p>`,
  });
  return refusal.code === 'method_not_allowed'
    ? { ...reply, headers: { ...reply.headers, allow: 'GET' } }
    : reply;
};
