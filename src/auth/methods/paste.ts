import type { AuthContext } from '../auth-context.ts';
import { checkCallback, type Expected, typedCode, type Verdict } from '../callback.ts';
import type { Settled } from '../loopback/listen.ts';

const paramsOf = (query: string, fragment: string): URLSearchParams => {
  const params = new URLSearchParams(query);
  // spec/sign-in#authorize-5 state: the fragment may carry it; a value that stands in both places is one value.
  for (const [name, value] of new URLSearchParams(fragment))
    if (params.get(name) !== value) params.append(name, value);
  return params;
};
const unquote = (line: string): string => line.trim().replace(/^<(.*)>$|^"(.*)"$|^'(.*)'$/s, '$1$2$3');
/** What terminals, shells and web pages put context or into an address that is copied from them. */
const unwrap = (line: string): string =>
  unquote(line.replaceAll('\u001b[200~', '').replaceAll('\u001b[201~', ''))
    // "Copy as cURL" and sentences: the address alone.
    .replace(
      /^(?![a-z][a-z0-9+.-]*:).*?\b(https?:\/\/(?:127\.0\.0\.1|\[::1\]|localhost)[:/?][^'"<>]*).*$/s,
      '$1',
    )
    .replaceAll(/\\(?=[?&=#%])/g, '')
    .replaceAll('&amp;', '&');
/** Answers to a question that nobody asked. */
const isWord = (text: string): boolean => /^(y|n|q|yes|no|ok|exit|quit|help|\?)$/i.test(text);
const decodeText = (text: string): string => {
  try {
    return text.includes('%') ? decodeURIComponent(text) : text;
  } catch {
    return text;
  }
};
/** Terminals and mail programs break long lines: blanks inside an address are not part of it. */
const joinLines = (text: string): string => text.replace(/\s+/g, '');
/** The whole redirected address, its query, its fragment, or the code alone. The state is checked in all but the last. */
export const verdictOfPaste = (line: string, expected: Expected): Verdict => {
  const bare = unwrap(line);
  const text = joinLines(bare);
  if (text === '') return { kind: 'ignored', why: 'the line is empty' };
  if (/^[a-z][a-z0-9+.-]*:/i.test(text)) return verdictOfAddress(text, expected);
  if (/^[?#]?([a-z_]+=)/i.test(text) && /(^|[?&#])(code|error|state)=/.test(text)) {
    const [query = '', fragment = ''] = text.replace(/^\?/, '').split('#');
    return settle(checkCallback(paramsOf(query, fragment), expected));
  }
  // A code has no blanks; only an address is long enough to be broken.
  if (text !== bare || isWord(text)) return { kind: 'ignored', why: 'this is neither an address nor a code' };
  return typedCode(decodeText(text), expected);
};
const verdictOfAddress = (text: string, expected: Expected): Verdict => {
  if (!URL.canParse(text)) return { kind: 'ignored', why: 'this is not a whole address' };
  const url = new URL(text);
  const params = paramsOf(url.search.slice(1), url.hash.slice(1));
  if (!params.has('code') && !params.has('error') && params.has('code_challenge'))
    return {
      kind: 'ignored',
      why: 'this is the address to open; paste the one the browser was sent to afterwards',
    };
  return settle(checkCallback(params, expected));
};
/** A pasted text has no browser to relay a fragment. */
const settle = (verdict: Verdict): Verdict =>
  verdict.kind === 'relay'
    ? { kind: 'ignored', why: 'the state is missing; paste the whole address from the browser' }
    : verdict;

/** The first line of stdin that answers this login; undefined when stdin ends. Other lines are explained and change nothing. */
export const pastedVerdict = async (
  context: AuthContext,
  expected: Expected,
  signal: AbortSignal,
): Promise<Settled | undefined> => {
  try {
    for await (const line of context.host.terminal.stdin.lines(signal)) {
      if (line.trim() === '') continue;
      const verdict = verdictOfPaste(line, expected);
      if (verdict.kind === 'code' || verdict.kind === 'refused') return verdict;
      if (verdict.kind === 'ignored') context.log.warn(`The pasted line was not used: ${verdict.why}.`);
    }
  } catch {
    // A closed or foreign stdin is no reason to end a login that waits for the browser.
  }
  return undefined;
};
