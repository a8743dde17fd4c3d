import { authPaths } from '../../api-specs/oauth/endpoints.ts';
import type { MockReply } from '../service.ts';
import type { Client, User } from './state.ts';
import { type Html, html } from '../html.ts';
import { formTarget, pageReply } from './layout.ts';

/** What every form of the flow carries: which request, and proof that this browser got the page. */
export type Step = {
  readonly request: string;
  readonly proof: string;
  readonly client: Client;
  readonly redirectUri: string;
  readonly cookies: readonly string[];
};

export const hidden = (step: Pick<Step, 'request' | 'proof'>): Html =>
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
<form method="post" action="${authPaths.authorize}/signin">${hidden(step)}
<label for="email">E-mail address</label>
<input id="email" name="email" type="email" autocomplete="username" required value="${email}"${email === '' && html` autofocus`}>
<label for="password">Password</label>
<input id="password" name="password" type="password" autocomplete="current-password" required${email !== '' && html` autofocus`}>
<div class="row"><button class="main" name="decision" value="signin">Sign in</button><button name="decision" value="cancel" formnovalidate>Cancel</button></div>
</form>${accounts.length > 0 && demoHint(accounts)}`,
  });

const face = (user: User): Html =>
  html`<span class="face" aria-hidden="true">${(user.name || user.email).slice(0, 1).toUpperCase()}</span>`;
export const accountLine = (user: User): Html =>
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
<form method="post" action="${authPaths.authorize}/account">${hidden(step)}
${users.map((user) => html`<button class="pick" name="account" value="${user.id}">${face(user)}<span>${user.name}<br><span class="soft small">${user.email}</span></span></button>`)}
<button class="pick" name="account" value="other"><span class="face" aria-hidden="true">+</span><span>Use another account</span></button>
</form>`,
  });
