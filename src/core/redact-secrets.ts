import { cutText } from './problem.ts';
import { findJsonTokens } from './json-scan.ts';

/** The names of secrets in headers, queries, forms and JSON, in snake case. The only such list of the program. */
const SECRET_NAMES: ReadonlySet<string> = new Set([
  ...['authorization', 'proxy_authorization', 'cookie', 'set_cookie', 'password', 'passwd', 'passphrase'],
  ...['token', 'secret', 'code', 'code_verifier', 'assertion', 'device_code', 'user_code', 'credential'],
  ...[
    'api_key',
    'apikey',
    'private_key',
    'signature',
    'credentials',
    'bearer',
    'otp',
    'totp',
    'passcode',
    'pwd',
  ],
  // The signature of a URL that lets everyone in who has it, and the cookie of a session under another name.
  ...['sig', 'session_id', 'sessionid', 'access_key', 'secret_key', 'connection_string'],
]);
const SECRET_ENDS: readonly string[] = [
  ...[
    'token',
    'secret',
    'password',
    'passphrase',
    'authorization',
    'assertion',
    'signature',
    'api_key',
    'apikey',
  ],
  ...[
    'private_key',
    'secret_key',
    'access_key',
    'account_key',
    'signing_key',
    'encryption_key',
    'session_id',
  ],
];
const SECRET_END = new RegExp(`(?:^|_)(?:${SECRET_ENDS.join('|')})$`);
/** Places in a list, which a replay needs. */
const NO_SECRETS = /(^|_)(page|sync|continuation|next|continue|cursor)_token$/;
/**
 * Secrets of a sign-in whose names are ordinary words in other contexts. A plain challenge equals the
 * verifier.
 */
const FORM_NAMES: ReadonlySet<string> = new Set(['state', 'code_challenge', 'proof', 'key']);
const MASK = '***';

const snake = (name: string): string =>
  name
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .replaceAll('-', '_')
    .toLowerCase();

const isSecretWord = (word: string): boolean =>
  !NO_SECRETS.test(word) && (SECRET_NAMES.has(word) || SECRET_END.test(word));
/** Records of a service have the same few names, so each name is judged once. A service may invent names, so only some are kept. */
const judgedNames = new Map<string, boolean>();
const MOST_JUDGED = 1000;
const LONGEST_JUDGED = 100;
/** True for a name under which a secret is sent or stored, in any of the usual notations. Pure. */
export const isSecretName = (name: string): boolean => {
  const known = judgedNames.get(name);
  if (known !== undefined) return known;
  const judged = isSecretWord(snake(name));
  if (judgedNames.size < MOST_JUDGED && name.length <= LONGEST_JUDGED) judgedNames.set(name, judged);
  return judged;
};

const decodeText = (text: string): string => {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return text;
  }
};

/** Masks the secrets of a query or a form body. Every other pair keeps its exact text. */
export const redactedForm = (text: string): string =>
  text
    .split('&')
    .map((pair) => {
      const name = pair.split('=', 1)[0] ?? '';
      const isHidden = isSecretName(decodeText(name)) || FORM_NAMES.has(snake(decodeText(name)));
      return isHidden && pair.includes('=') ? `${name}=${MASK}` : pair;
    })
    .join('&');

/** The scheme and the slashes before the host, as lenient parsers read them. */
const HOST_START = /^(?:[a-z][a-z0-9+.-]*:[\\/]*|[\\/]{2,})/i;
/** Masks user and password. In a text that no parser accepts, a password may contain any of / ? # @. */
const withoutUser = (text: string): string => {
  if (!text.includes('@') || /^[\\/](?![\\/])/.test(text)) return text;
  const start = HOST_START.exec(text)?.[0] ?? '';
  const rest = text.slice(start.length);
  const host = parseAddress(text) === undefined ? rest : (/^[^\\/?#]*/.exec(rest)?.[0] ?? '');
  const end = host.lastIndexOf('@');
  return end === -1 ? text : `${start}${MASK}${rest.slice(end)}`;
};
/** Masks the credentials, the secret parameters and the fragment's secret parameters of a URL, or of a text that should be one. */
export const redactedUrl = (url: string): string => {
  if (!/[?#@]/.test(url)) return url;
  const [, before = '', query, fragment] = /^([^?#]*)(?:\?([^#]*))?(?:#(.*))?$/s.exec(withoutUser(url)) ?? [];
  return [
    before,
    query === undefined ? '' : `?${redactedForm(query)}`,
    fragment === undefined ? '' : `#${redactedForm(fragment)}`,
  ].join('');
};

const parseAddress = (text: string): URL | undefined => {
  try {
    return new URL(text);
  } catch {
    return undefined;
  }
};
/** The values under secret names in a query or a form body, as written and decoded. */
export const secretsInForm = (text: string): string[] =>
  text.split('&').flatMap((pair) => {
    const at = pair.indexOf('=');
    const value = pair.slice(at + 1);
    const isSecret = at > 0 && value !== '' && isSecretName(decodeText(pair.slice(0, at)));
    return isSecret ? [value, decodeText(value)] : [];
  });
/** The secrets of a URL, to mask them in other output: its password, or the user if that is all, and its secret parameters. */
export const secretsInUrl = (text: string): string[] => {
  const url = parseAddress(text);
  if (url === undefined) return [];
  const isWebUser = url.password === '' && /^https?:$/.test(url.protocol);
  const credential = isWebUser ? url.username : url.password;
  return [credential, decodeText(credential), ...secretsInForm(url.search.slice(1))].filter(
    (one) => one !== '',
  );
};

/** The user name of a proxy is not a secret: it can be a word of any output. */
export const passwordOfProxy = (text: string): string[] => {
  const password = parseAddress(text)?.password ?? '';
  return password === '' ? [] : [password, decodeText(password)];
};

const isUrl = (text: string): boolean => /^[a-z][a-z0-9+.-]*:\/\//i.test(text);

const redactedHeader = (name: string, value: string): string => {
  if (isSecretName(name) || FORM_NAMES.has(snake(name))) return MASK;
  if (/^(content-)?location$|^referer$/i.test(name)) return redactedUrl(value);
  // Link, Refresh and others have URLs inside their value.
  return value.replace(/[a-z][a-z0-9+.-]*:\/\/[^\s<>"',;]+/gi, redactedUrl);
};

export const redactedHeaders = (
  headers: Readonly<Record<string, string | undefined>>,
): Record<string, string> =>
  Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, redactedHeader(name, value)]],
    ),
  );

export const redactedText = (text: string): string => (isUrl(text) ? redactedUrl(text) : text);

/** Which values below a name are masked: all texts and numbers at any depth, only the texts of a list, or none. */
type Hidden = 'all' | 'texts' | 'none';
type Judge = (name: string, value: unknown) => Hidden;
type JudgeName = (name: string) => Hidden;
/** A code is a secret only as text: the number or the object below this name belongs to an error. */
const scopeBelow = (name: string): Hidden =>
  !isSecretName(name) ? 'none' : snake(name) === 'code' ? 'texts' : 'all';
/** In an answer to a form, which only an endpoint of a sign-in reads, a number can be a code that opens an account. */
const scopeBelowInSignIn = (name: string): Hidden => (isSecretName(name) ? 'all' : 'none');
/** Returns whether a request with this content type goes to an endpoint of a sign-in: all other services read JSON. */
const isSignInType = (type = ''): boolean => /^application\/x-www-form-urlencoded\b/i.test(type);
/** Everything inside a hidden object is hidden. */
const scopeInside = (outer: Hidden): Hidden => (outer === 'all' ? 'all' : 'none');

/**
 * Masks the texts and numbers under secret names in a JSON value, and the secrets of its URLs, at any depth. The values
 * true, false and null stay.
 */
export const redactedJson = (value: unknown, hidden: Hidden = 'none', judge: Judge = scopeBelow): unknown => {
  if (typeof value === 'string') return hidden === 'none' ? redactedText(value) : MASK;
  if (typeof value === 'number') return hidden === 'all' ? MASK : value;
  if (Array.isArray(value)) return value.map((item) => redactedJson(item, hidden, judge));
  if (typeof value !== 'object' || value === null) return value;
  const outer = scopeInside(hidden);
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [
      key,
      redactedJson(inner, outer === 'all' ? outer : judge(key, inner), judge),
    ]),
  );
};
/** The members of an object that describes a field or names a stored secret, and has no value of one. */
const DESCRIBING = new Set([
  ...['type', '$ref', 'in', 'name', 'title', 'summary', 'description', 'format', 'enum', 'items', 'pattern'],
  ...['minLength', 'maxLength', 'nullable', 'readOnly', 'writeOnly', 'required', 'deprecated'],
  ...['properties', 'additionalProperties', 'secretName', 'defaultMode'],
]);
const isDescription = (value: unknown): boolean =>
  typeof value === 'object' &&
  value !== null &&
  ('type' in value || '$ref' in value || 'secretName' in value) &&
  Object.keys(value).every((key) => DESCRIBING.has(key));
/**
 * Masks the secrets in the result of a command. The code of a finding or an error is a word, not a secret, and a schema
 * has fields with the names of secrets.
 */
export const redactedResult = (value: unknown): unknown =>
  redactedJson(value, 'none', (name, inner) =>
    name === 'code' || isDescription(inner) ? 'none' : scopeBelow(name),
  );

const parseText = (text: string): { readonly json: unknown } | undefined => {
  try {
    return { json: JSON.parse(text) };
  } catch {
    return undefined;
  }
};

/** The signs, the start of a string, and whole numbers. */
const MASKED_TOKEN = /["{}[\],:]|-?\d[\d.eE+-]*/g;
/** An object or a list of a JSON text that is still open. `outer` holds for all its values, `hidden` for the next one. */
type OpenValue = {
  readonly isObject: boolean;
  readonly outer: Hidden;
  isKeyNext: boolean;
  hidden: Hidden;
};
/** The literal of a string without the secrets of a URL. Only a text with a colon or an escape can be a URL. */
const maskUrlLiteral = (literal: string): string => {
  if (!/[:\\]/.test(literal)) return literal;
  const text = String(JSON.parse(literal));
  const masked = redactedText(text);
  return masked === text ? literal : JSON.stringify(masked);
};
/** Notes a sign of JSON that opens, closes or separates values. */
const noteSign = (sign: string, open: OpenValue[]): void => {
  const inner = open.at(-1);
  const hidden = inner?.hidden ?? 'none';
  const outer = scopeInside(hidden);
  if (sign === '{') open.push({ isObject: true, isKeyNext: true, outer, hidden: outer });
  else if (sign === '[') open.push({ isObject: false, isKeyNext: false, outer: hidden, hidden });
  else if (sign === '}' || sign === ']') open.pop();
  else if (inner !== undefined) inner.isKeyNext = inner.isObject && sign === ',';
};
const noteKey = (literal: string, inner: OpenValue, judge: JudgeName): void => {
  inner.hidden = inner.outer === 'all' ? 'all' : judge(String(JSON.parse(literal)));
};
/** The text that stands for a string or a number of JSON. */
const maskLiteral = (literal: string, hidden: Hidden): string => {
  const isText = literal.startsWith('"');
  if (hidden === 'all' || (isText && hidden === 'texts')) return `"${MASK}"`;
  return isText ? maskUrlLiteral(literal) : literal;
};
/**
 * Masks the strings and numbers of valid JSON like `redactedJson`. Every other character of the text stays, because a
 * parsed value loses digits of long numbers and one of two equal keys.
 */
const maskJsonLiterals = (text: string, judge: JudgeName): string => {
  const parts: string[] = [];
  const open: OpenValue[] = [];
  let end = 0;
  for (const { token, at } of findJsonTokens(text, MASKED_TOKEN)) {
    const inner = open.at(-1);
    if (/^[{}[\],:]/.test(token)) noteSign(token, open);
    else if (inner?.isKeyNext === true) noteKey(token, inner, judge);
    else {
      parts.push(text.slice(end, at), maskLiteral(token, inner?.hidden ?? 'none'));
      end = at + token.length;
    }
  }
  return parts.join('') + text.slice(end);
};
const secretWords = [...SECRET_NAMES, ...SECRET_ENDS];
/** The words without those that contain a shorter one. */
const secretRoots = secretWords.filter(
  (word) => !secretWords.some((other) => other !== word && word.includes(other)),
);
/**
 * A part of each secret name, the mark of a URL, and what may write them in another form: an escape, or one of the two
 * letters outside ASCII that are ASCII in lower case. It is made from the names, so that it has each of them.
 */
const MAY_NEED_MASK = new RegExp(
  `${[...new Set(secretRoots)].map((word) => word.replaceAll('_', '[_-]?')).join('|')}|://|[\\\\\u0130\u212a]`,
  'i',
);
/** One JSON value, or one in each line, as streams send them. */
const maskJsonText = (text: string, judge: JudgeName): string | undefined => {
  if (parseText(text) !== undefined) return MAY_NEED_MASK.test(text) ? maskJsonLiterals(text, judge) : text;
  const lines = text.split('\n');
  if (lines.some((line) => line.trim() !== '' && parseText(line) === undefined)) return undefined;
  return lines.map((line) => (line.trim() === '' ? line : maskJsonLiterals(line, judge))).join('\n');
};
/**
 * Returns a text body without its secrets: JSON, JSON lines or a form. Returns undefined for other formats. `sentType` is
 * the content type of the request that the body answers.
 */
export const redactedBody = (text: string, type = '', sentType = ''): string | undefined => {
  if (text === '') return text;
  if (isSignInType(type)) return redactedForm(text);
  return maskJsonText(text, isSignInType(sentType) ? scopeBelowInSignIn : scopeBelow);
};

/** Like `redactedBody`, for a text that JSON.stringify made. It is not read if it cannot have a secret. */
export const redactedOwnJson = (text: string): string =>
  MAY_NEED_MASK.test(text) ? maskJsonLiterals(text, scopeBelow) : text;

/** Words next to which a text of unknown form may have a secret. */
const MAY_BE_SECRET =
  /token|secret|passw|passphrase|api.?key|private.?key|authorization|credential|assertion|signature|cookie|["?&]code["=]|_code\b/i;
/**
 * Returns a text of a service for a message: JSON without its secrets, and any other text only if it contains no
 * word that names a secret.
 */
export const quotableText = (text: string): string => {
  const whole = parseText(text);
  if (whole !== undefined && typeof whole.json === 'object') return redactedBody(text) ?? '';
  return MAY_BE_SECRET.test(text)
    ? `(${Buffer.byteLength(text)} bytes, not shown because they may contain a secret)`
    : text;
};

const LONGEST_EXCERPT = 120;
/** The first words of a body that should not be there, on one line and without secrets. */
export const excerptOf = (text: string): string => {
  const line = quotableText(text).replace(/\s+/g, ' ').trim();
  return cutText(line, LONGEST_EXCERPT);
};

/** The name of a secret with a value behind it. Its repetitions have limits, so that a long line takes linear time. */
const HAS_SECRET =
  /(?:token|secret|passw|passphrase|api.?key|private.?key|authorization|credential|assertion|signature|cookie|[?&]code|_code)[\w-]{0,40}["']?\s{0,9}[:=]\s{0,9}["']?[^\s"',]/i;
/** Returns a line of output that is not JSON, unless it has a value next to the name of a secret. */
export const quotableLine = (line: string): string => (HAS_SECRET.test(line) ? quotableText(line) : line);

/** A name before its value, or an HTTP scheme before its token. The limits keep the time linear. */
const NAME_OR_SCHEME =
  /\b(?:(?<name>(?:api |private )?[a-z][\w-]{0,60})["']?\s{0,9}[:=](?<gap>\s{0,9}["']?(?:(?:Bearer|Basic|DPoP)\s{1,9})?)|(?:Bearer|Basic|DPoP)\s{1,9})/gi;
const VALUE = /[^\s"',;&<>()]{8,}/y;
const TOKEN = /[\w.~+/-]{16,}=*(?![\w.~+/="-])/y;
const matchAt = (pattern: RegExp, text: string, at: number): string | undefined => {
  pattern.lastIndex = at;
  return pattern.exec(text)?.[0];
};
/** A code is a secret in a query. In a sentence it is the code of an error. */
const isNamedSecret = (name: string, before: string | undefined): boolean =>
  name.toLowerCase() === 'code' ? before === '?' || before === '&' : isSecretName(name.replace(' ', '_'));
/** After `token: ` usually follows a sentence, so that only a word with a digit or a long word is hidden there. */
const isWord = (gap: string, value: string): boolean =>
  /^\s+$/.test(gap) && value.length < 20 && !/\d/.test(value);
/** Masks the secrets in a sentence of a server, which has to stay readable because it names the cause of an error. */
export const redactedSentence = (text: string): string => {
  let [shown, end] = ['', 0];
  for (const { 0: all, index, groups: { name, gap = '' } = {} } of text.matchAll(NAME_OR_SCHEME)) {
    const at = index + all.length;
    if (index < end || (name !== undefined && !isNamedSecret(name, text[index - 1]))) continue;
    const value = matchAt(name === undefined ? TOKEN : VALUE, text, at);
    if (value === undefined || isWord(gap, value)) continue;
    shown += text.slice(end, at) + MASK;
    end = at + value.length;
  }
  return shown + text.slice(end);
};

const textsUnder = (value: unknown, isHidden: boolean): string[] => {
  if (typeof value === 'string') return isHidden ? [value] : [];
  if (Array.isArray(value)) return value.flatMap((item) => textsUnder(item, isHidden));
  if (typeof value !== 'object' || value === null) return [];
  // The code of an error is a word, not a secret.
  return Object.entries(value).flatMap(([key, inner]) =>
    textsUnder(inner, key !== 'code' && isSecretName(key) && typeof inner !== 'object'),
  );
};

/** The secrets of a JSON text, to mask them by value in other output. */
export const secretsIn = (text: string): string[] => textsUnder(parseText(text)?.json, false);
