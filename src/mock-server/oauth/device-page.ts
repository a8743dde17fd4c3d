import { authPaths } from '../../api-specs/oauth/endpoints.ts';
import { scopeRow } from '../../api-specs/oauth/scopes.ts';
import type { MockReply } from '../service.ts';
import { html } from '../html.ts';
import { pageReply } from './layout.ts';

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
<input id="user_code" name="user_code" required autocomplete="off" value="${userCode}">
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
