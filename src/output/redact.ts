import { encodeStrictly } from '../core/text.ts';
import type { Redactor, RedactStream } from './types.ts';

const MASK = '***';

/**
 * Test tokens such as `test`, `token` or `1234` must not mask the same word or number in data and field
 * names. Issued secrets are longer, or at least mix letters and digits. Pure.
 */
const isHideable = (secret: string): boolean =>
  secret.length >= 8 || (secret.length >= 4 && /[a-z]/i.test(secret) && /\d/.test(secret));

/**
 * The part of the base64 text that depends only on the secret. At each of three offsets, the first and last
 * characters mix with the neighbors and are left out. A short rest would match by chance.
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

/** All encodings of a secret in output: plain, JSON, CSV, URL, form, base64 and base64url. Pure. */
const formsOf = (secret: string): string[] => {
  const bytes = Buffer.from(secret);
  const encoded = encodeURIComponent(bytes.toString());
  const strict = encodeStrictly(bytes.toString());
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

/** Length of the longest end of `text` that may be the beginning of a form. */
const openEnd = (text: string, forms: readonly string[]): number => {
  const last = text.at(-1);
  if (last === undefined) return 0;
  let longest = 0;
  for (const form of forms) {
    // Only a beginning that ends with the last character of the text can be the one.
    let at = form.lastIndexOf(last, Math.min(form.length - 1, text.length) - 1);
    while (at + 1 > longest) {
      if (text.endsWith(form.slice(0, at + 1))) longest = at + 1;
      if (at === 0) break;
      at = form.lastIndexOf(last, at - 1);
    }
  }
  return longest;
};

/** A part of a secret that is shorter is not recognized: two characters are too often those of a word. */
const SHORTEST_PART = 3;
/** Where text was left out (`cutText`, `shortenMiddle`, and the cells of a table). */
const CUT = '…';
/** Length of the longest end of `text` that is the beginning of a form; 0 if it is too short for a decision. */
const endThatStartsForm = (text: string, forms: readonly string[]): number => {
  const tail = text.slice(-SHORTEST_PART);
  let longest = 0;
  for (const form of tail.length < SHORTEST_PART ? [] : forms)
    for (let at = form.lastIndexOf(tail); at !== -1; at = at === 0 ? -1 : form.lastIndexOf(tail, at - 1)) {
      const length = at + SHORTEST_PART;
      if (length > longest && text.endsWith(form.slice(0, length))) longest = length;
    }
  return longest;
};
/** Length of the longest beginning of `text` that is the end of a form; 0 if it is too short for a decision. */
const startThatEndsForm = (text: string, forms: readonly string[]): number => {
  const head = text.slice(0, SHORTEST_PART);
  let longest = 0;
  for (const form of head.length < SHORTEST_PART ? [] : forms)
    for (let at = form.indexOf(head); at !== -1; at = form.indexOf(head, at + 1))
      if (form.length - at > longest && text.startsWith(form.slice(at))) longest = form.length - at;
  return longest;
};
/** Masks the rest of a secret next to the place where text was left out. Pure. */
const maskParts = (text: string, forms: readonly string[]): string => {
  if (!text.includes(CUT)) return text;
  const pieces = text.split(CUT);
  return pieces
    .map((piece, at) => {
      const [isAfterCut, isBeforeCut] = [at > 0, at < pieces.length - 1];
      const isInside = isAfterCut && isBeforeCut && piece.length >= SHORTEST_PART;
      if (isInside && forms.some((form) => form.includes(piece))) return MASK;
      const start = isAfterCut ? startThatEndsForm(piece, forms) : 0;
      const rest = piece.slice(start);
      const end = isBeforeCut ? endThatStartsForm(rest, forms) : 0;
      return `${start > 0 ? MASK : ''}${rest.slice(0, rest.length - end)}${end > 0 ? MASK : ''}`;
    })
    .join(CUT);
};
/** Where the end of a text may become the rest of a secret behind a cut: at the last cut, if a form has what follows it. */
const openCut = (text: string, forms: readonly string[]): number => {
  const at = text.lastIndexOf(CUT);
  if (at === -1) return text.length;
  const rest = text.slice(at + 1);
  return forms.some((form) => form.includes(rest)) ? at : text.length;
};

/** The forms that contain no other form: without one of them, a text contains no form at all. */
const coresOf = (forms: readonly string[]): readonly string[] =>
  forms.filter((form) => !forms.some((other) => other !== form && form.includes(other)));

type Match = { readonly index: number; readonly end: number };

/** Which of these places is the first, and of equal ones the first in the list; -1 where none is a place. */
const leftmost = (places: readonly number[]): number => {
  let best = -1;
  for (const [i, place] of places.entries())
    if (place !== -1 && (best === -1 || place < (places[best] ?? 0))) best = i;
  return best;
};

/**
 * Positions of the forms in the text, from left to right and without overlap; the longest match wins. Uses a
 * search, because a pattern of long secrets exceeds the limits of RegExp, and its error would quote the
 * secret.
 */
const matchesIn = (text: string, forms: readonly string[]): Match[] => {
  const next = forms.map((form) => text.indexOf(form));
  const found: Match[] = [];
  for (let at = 0; ; ) {
    for (const [i, form] of forms.entries()) {
      const index = next[i] ?? -1;
      if (index !== -1 && index < at) next[i] = text.indexOf(form, at);
    }
    const best = leftmost(next);
    if (best === -1) return found;
    const index = next[best] ?? 0;
    at = index + (forms[best]?.length ?? 1);
    found.push({ index, end: at });
  }
};

/** The text with every form that starts before `border` masked, and where the last of them ends. */
const maskForms = (
  text: string,
  forms: readonly string[],
  border = text.length,
): { readonly done: string; readonly at: number } => {
  let done = '';
  let at = 0;
  for (const { index, end } of matchesIn(text, forms)) {
    if (index >= border) break;
    done += text.slice(at, index) + MASK;
    at = end;
  }
  return { done, at };
};

/**
 * Splits `text` into the masked part and the rest, which may be the start of one of `forms`. A match that starts
 * before the rest is kept. `found` is empty if the text contains no form.
 */
const settle = (
  text: string,
  found: readonly string[],
  forms: readonly string[],
): [done: string, open: string] => {
  const border = Math.min(text.length - openEnd(text, forms), openCut(text, forms));
  const { done, at } = maskForms(text, found, border);
  const cut = Math.max(at, border);
  const [before, open] = [done + text.slice(at, cut), text.slice(cut)];
  const mark = open.startsWith(CUT) ? CUT : '';
  const masked = maskParts(before + mark, forms);
  return [masked.slice(0, masked.length - mark.length), open];
};

/** Replaces every hidden value by `***`, in all its forms and across the borders of pieces. A secret may have any length. */
export const makeRedactor = (): Redactor => {
  const secrets = new Set<string>();
  let forms: readonly string[] = [];
  let cores: readonly string[] = [];
  const hide = (secret: string): void => {
    if (!isHideable(secret) || secrets.has(secret)) return;
    secrets.add(secret);
    // The longest first: a secret may contain another one.
    forms = [...new Set([...forms, ...formsOf(secret)])].sort((a, b) => b.length - a.length);
    cores = coresOf(forms);
  };
  const clean = (text: string): string => {
    if (!cores.some((core) => text.includes(core))) return maskParts(text, forms);
    const { done, at } = maskForms(text, forms);
    return maskParts(done + text.slice(at), forms);
  };
  const stream = (): RedactStream => {
    let held = '';
    return {
      push(piece) {
        if (forms.length === 0) return piece;
        const text = held + piece;
        const [done, open] = settle(text, cores.some((core) => text.includes(core)) ? forms : [], forms);
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
