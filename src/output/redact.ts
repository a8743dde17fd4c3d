import type { Redactor, RedactStream } from './types.ts';

const MASK = '***';

/**
 * `test`, `token` or `1234` as a token of a trial must not blank out the same word or number in data and in the names of
 * fields. What services hand out is longer, or at least mixes letters and digits. Pure.
 */
const isHideable = (secret: string): boolean =>
  secret.length >= 8 || (secret.length >= 4 && /[a-z]/i.test(secret) && /\d/.test(secret));

/**
 * The part of base64 that a secret produces whatever stands around it. At each of three offsets the first and last
 * characters mix with the neighbours and are left out; too short a rest would match by chance.
 */
const base64Cores = (secret: Buffer): string[] =>
  [0, 1, 2].flatMap((offset) => {
    const text = Buffer.concat([Buffer.alloc(offset), secret])
      .toString('base64')
      .replace(/=+$/, '');
    const first = offset === 0 ? 0 : offset + 1;
    const core = text.slice(first, (offset + secret.length) % 3 === 0 ? text.length : text.length - 1);
    return core.length >= 8 ? [core, core.replaceAll('+', '-').replaceAll('/', '_')] : [];
  });

/** Every way a secret may be spelled in output: as it is, in JSON, CSV, a URL, a form, base64 and base64url. Pure. */
const formsOf = (secret: string): string[] => {
  const bytes = Buffer.from(secret);
  const encoded = encodeURIComponent(bytes.toString());
  const strict = encoded.replace(/[!'()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`);
  const urls = [encoded, strict, strict.replaceAll('%20', '+')];
  const lower = urls.map((text) => text.replace(/%[0-9A-F]{2}/g, (code) => code.toLowerCase()));
  const json = JSON.stringify(secret).slice(1, -1);
  return [
    secret,
    json,
    secret.replaceAll('"', '""'),
    ...urls,
    ...lower,
    bytes.toString('base64'),
    bytes.toString('base64url'),
    ...base64Cores(bytes),
  ];
};

/** Length of the longest end of `text` that may be the beginning of a form. Most texts end with a line, whose end is in no form. */
const openEnd = (text: string, forms: readonly string[]): number => {
  let longest = 0;
  const last = text.at(-1);
  if (last === undefined || !forms.some((form) => form.includes(last))) return 0;
  for (const form of forms) {
    for (let length = Math.min(form.length - 1, text.length); length > longest; length--) {
      if (text.endsWith(form.slice(0, length))) longest = length;
    }
  }
  return longest;
};

/** What of `text` is decided, masked, and the rest, which may begin a form. A match that starts before that rest stands. */
const settle = (text: string, pattern: RegExp, forms: readonly string[]): [done: string, open: string] => {
  const border = text.length - openEnd(text, forms);
  let done = '';
  let at = 0;
  for (const match of text.matchAll(pattern)) {
    if (match.index >= border) break;
    done += text.slice(at, match.index) + MASK;
    at = match.index + match[0].length;
  }
  const cut = Math.max(at, border);
  return [done + text.slice(at, cut), text.slice(cut)];
};

/** Replaces every hidden value by `***`, in all its forms and across the borders of pieces. */
export const makeRedactor = (): Redactor => {
  const secrets = new Set<string>();
  let forms: string[] = [];
  let pattern: RegExp | undefined;
  const hide = (secret: string): void => {
    if (!isHideable(secret) || secrets.has(secret)) return;
    secrets.add(secret);
    // The longest first: a secret may contain another one.
    forms = [...new Set([...forms, ...formsOf(secret)])].sort((a, b) => b.length - a.length);
    pattern = new RegExp(forms.map((form) => form.replace(/[.*+?^${}()|[\]\\/-]/g, '\\$&')).join('|'), 'g');
  };
  const clean = (text: string): string => (pattern === undefined ? text : text.replace(pattern, MASK));
  const stream = (): RedactStream => {
    let held = '';
    return {
      push(piece) {
        if (pattern === undefined) return piece;
        const [done, open] = settle(held + piece, pattern, forms);
        held = open;
        return done;
      },
      end() {
        const rest = clean(held);
        held = '';
        return rest;
      },
    };
  };
  return { hide, clean, stream };
};
