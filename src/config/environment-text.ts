import { type Page, prose, terms } from '../core/page.ts';
import { keys } from './keys.ts';

const others: readonly (readonly [string, string])[] = [
  ['OPSCTL_PROFILE', 'Profile to use'],
  ['OPSCTL_HOME', 'One directory for configuration, state and cache; else the XDG directories'],
  ['HTTPS_PROXY, HTTP_PROXY, NO_PROXY', 'Proxies; requests to this machine never use one'],
  ['NODE_EXTRA_CA_CERTS', 'File with certificate authorities that Node trusts beside its own'],
  ['NODE_COMPILE_CACHE', 'Directory for compiled code of the program, instead of the cache directory'],
  ['NODE_DISABLE_COMPILE_CACHE', 'When set, compiled code of the program is neither kept nor used'],
  ['NO_COLOR, FORCE_COLOR', 'Colour off, colour on; --color beats both'],
  ['OPSCTL_KEYCHAIN', '`never` keeps credentials in an encrypted file instead of the system keychain'],
  ['OPSCTL_KV_CLUSTER', 'Cluster file of the kv commands'],
  ['OPSCTL_KV_PASSWORD', "Password of the store's user, when no file is given"],
  ['OPSCTL_MOCK_URL', 'Running mock server that the mock commands talk to'],
  ['OPSCTL_WEBHOOK_SECRET', 'Secret of `tracker webhooks listen`, when no file is given'],
  ['OPSCTL_PAGER, PAGER', 'Pager for long answers on a terminal; empty or `cat` for none'],
  ['LC_ALL, LC_CTYPE, LANG', 'Without UTF-8 in it, lines and ticks are drawn in ASCII'],
  ['COLUMNS', 'Width of help where the output is not a terminal'],
  ['CI', 'When set, nothing is asked and nothing turns'],
  ['ACCESSIBLE', 'When set, questions are plain lines with numbered choices, and nothing is drawn over'],
  ['BROWSER', 'Command that opens the sign-in page; `none` for no browser'],
];

/** Every variable that changes what the program does, with what it sets. */
export const environmentRows = (): (readonly [string, string])[] => [
  ...keys.flatMap(({ env, summary }) => (env === undefined ? [] : [[env, summary] as const])),
  ...others,
];

/** `opsctl help environment`. */
export const page = (): Page => ({
  title: 'opsctl help environment',
  summary: 'Environment variables',
  blocks: [
    prose('A flag beats a variable, a variable beats the profile, the profile beats the default.'),
    terms(environmentRows()),
  ],
});
