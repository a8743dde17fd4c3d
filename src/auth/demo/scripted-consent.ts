import { demo } from '../../api-specs/oauth/endpoints.ts';
import { AppError } from '../../core/problem.ts';
import type { HttpReply, HttpRequest } from '../../platform/host.ts';
import type { AuthContext } from '../auth-context.ts';
import { relayMark } from '../callback.ts';
import { serviceFailure } from '../protocol/send.ts';
import { safeText } from '../scopes.ts';

/** A form as a browser without script would send it. */
export type Form = {
  readonly action: string;
  readonly fields: readonly (readonly [string, string])[];
  readonly buttons: readonly (readonly [string, string])[];
  /** The input of a user, in addition to the prefilled values. */
  readonly asks: readonly (readonly [string, string])[];
};
const entities: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'" };
const plain = (text: string): string =>
  text.replace(/&(amp|lt|gt|quot|#39);/g, (_, name: string) => entities[name] ?? '');
const attributes = (tag: string): Record<string, string> =>
  Object.fromEntries(
    [...tag.matchAll(/([a-zA-Z-]+)(?:\s*=\s*"([^"]*)")?/g)]
      .slice(1)
      .map(([, name = '', value = '']) => [name.toLowerCase(), plain(value)]),
  );
const tags = (html: string, name: string): Record<string, string>[] =>
  [...html.matchAll(new RegExp(`<${name}\\b[^>]*>`, 'gi'))].map(([tag]) => attributes(tag));
const typed = new Set(['text', 'email', 'password']);
const selects = (html: string): (readonly [string, string])[] =>
  [...html.matchAll(/<select\b([^>]*)>(.*?)<\/select>/gis)].map(([, head = '', body = '']) => [
    attributes(`<select ${head}>`).name ?? '',
    tags(body, 'option')[0]?.value ?? '',
  ]);
/** The first form of a page. */
export const formIn = (html: string): Form | undefined => {
  const found = /<form\b([^>]*)>(.*?)<\/form>/is.exec(html);
  if (found === null) return undefined;
  const [, head = '', body = ''] = found;
  const inputs = tags(body, 'input').filter(({ name }) => name !== undefined);
  const kept = inputs.filter(({ type }) => type === 'hidden' || type === 'checkbox');
  return {
    action: attributes(`<form ${head}>`).action ?? '',
    fields: [...kept.map((input) => [input.name ?? '', input.value ?? 'on'] as const), ...selects(body)],
    buttons: tags(body, 'button').map((button) => [button.name ?? '', button.value ?? ''] as const),
    asks: inputs
      .filter(({ type }) => typed.has(type ?? 'text'))
      .map(({ name, value }) => [name ?? '', value ?? ''] as const),
  };
};

type Jar = Map<string, string>;
const maxPages = 12;
const remember = (jar: Jar, reply: HttpReply): void => {
  const header = reply.headers['set-cookie'];
  if (header === undefined) return;
  for (const [, name = '', value = ''] of header.matchAll(/(?:^|,\s*)([\w.-]+)=([^;,]*)/g)) {
    if (!/^(path|max-age|expires|domain|samesite)$/i.test(name)) jar.set(name, value);
  }
};
const cookieOf = (jar: Jar): Record<string, string> =>
  jar.size === 0 ? {} : { cookie: [...jar].map(([name, value]) => `${name}=${value}`).join('; ') };
const stuck = (why: string): AppError =>
  new AppError('auth', `the scripted consent ended: ${why}`, {
    code: 'CONSENT_STUCK',
    tryThis: ['opsctl login --browser', 'opsctl login --no-browser'],
  });
const wishes: readonly string[] = ['signin', 'allow'];
/**
 * Fills in the demo user (the one that --login-hint has filled in, otherwise the first), leaves every box
 * checked, and presses the button to continue.
 */
const fillForm = (form: Form): URLSearchParams => {
  const body = new URLSearchParams();
  for (const [name, value] of form.fields) body.append(name, value);
  const typed = form.asks.map(([, value]) => value);
  const user = demo.users.find(({ email }) => typed.includes(email)) ?? demo.users[0];
  for (const [name] of form.asks) body.set(name, name === 'password' ? user.password : user.email);
  const button = form.buttons.find(([, value]) => wishes.includes(value)) ?? form.buttons[0];
  if (button !== undefined && button[0] !== '') body.set(...button);
  return body;
};
const requestFor = (form: Form, at: string): HttpRequest => ({
  method: 'POST',
  url: new URL(form.action, at).href,
  headers: { 'content-type': 'application/x-www-form-urlencoded', origin: new URL(at).origin },
  body: fillForm(form).toString(),
});
/** An error page has its code in the title and its description below. */
const refusalIn = (page: string): AppError | undefined => {
  const code = /<title>Error \d+: ([a-z_]+)<\/title>/.exec(page)?.[1];
  if (code === undefined) return undefined;
  return serviceFailure(
    'the authorization server refused',
    code,
    plain(/<p class="small">([^<]*)</.exec(page)?.[1] ?? ''),
  );
};
const problemIn = (page: string): string => {
  const text =
    /id="problem"[^>]*>([^<]*)</.exec(page)?.[1] ?? /<h1[^>]*>([^<]*)</.exec(page)?.[1] ?? 'an unknown page';
  return safeText(text, 120);
};
/** What a browser does at the redirect URI: a fragment stays in it and comes back through the relay page. */
const deliver = async (context: AuthContext, location: string): Promise<void> => {
  const url = new URL(location);
  const [fragment, query] = [url.hash.slice(1), new URLSearchParams(url.search)];
  url.hash = '';
  if (!query.has('state') && fragment !== '') {
    for (const [name, value] of new URLSearchParams(fragment)) query.append(name, value);
    query.set(relayMark, '1');
    url.search = query.toString();
  }
  const reply = await context.host.network.request({ method: 'GET', url: url.href, signal: context.signal });
  await reply.text();
};
/** Signs in and consents at the embedded server as a person with a browser would: its own pages, its own forms. */
export const walkConsent = async (context: AuthContext, url: string, redirectUri: string): Promise<void> => {
  context.log.info(
    'No browser is available: opsctl completes the pages of the embedded server as its demo user.',
  );
  const jar: Jar = new Map();
  let next: HttpRequest = { method: 'GET', url };
  let last = '';
  for (let page = 0; page < maxPages; page++) {
    const headers = {
      ...next.headers,
      ...cookieOf(jar),
      accept: 'text/html',
      'user-agent': 'opsctl scripted consent',
    };
    const reply = await context.host.network.request({ ...next, headers, signal: context.signal });
    const html = await reply.text();
    remember(jar, reply);
    const location = reply.headers.location;
    if (location !== undefined) {
      const to = new URL(location, next.url).href;
      if (new URL(to).origin === new URL(redirectUri).origin) return deliver(context, to);
      next = { method: 'GET', url: to };
      continue;
    }
    const form = formIn(html);
    if (form === undefined || html === last || reply.status >= 400)
      throw refusalIn(html) ?? stuck(problemIn(html));
    last = html;
    next = requestFor(form, next.url);
  }
  throw stuck('too many pages');
};
