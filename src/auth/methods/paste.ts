import { parseUrl } from '../../core/external-url.ts';
import type { AuthContext } from '../auth-context.ts';
import { checkCallback, type Expected, typedCode, type Verdict } from '../callback.ts';
import type { CallbackResult } from '../loopback/listen.ts';

const paramsOf = (query: string, fragment: string): URLSearchParams => {
  const params = new URLSearchParams(query);
  // spec/sign-in#authorize-5 state: the fragment may contain it. The same value in both places counts once.
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
/** Replies to a prompt that was not shown. */
const isWord = (text: string): boolean => /^(y|n|q|yes|no|ok|exit|quit|help|\?)$/i.test(text);
const decodeText = (text: string): string => {
  try {
    return text.includes('%') ? decodeURIComponent(text) : text;
  } catch {
    return text;
  }
};
/** Terminals and mail programs break long lines: spaces inside a URL are not part of it. */
const joinLines = (text: string): string => text.replace(/\s+/g, '');
/**
 * A line of a broken URL is not a code: it ends or starts inside the state, or contains additional
 * parameters.
 */
const isPiece = (text: string, { state }: Expected): boolean =>
  state.includes(text) || /&[\w.-]+=/.test(text);
/**
 * Parses the whole redirect URL, its query, its fragment, or only the code. The state is checked in all forms
 * that contain it.
 */
export const verdictOfPaste = (line: string, expected: Expected): Verdict => {
  const bare = unwrap(line);
  const text = joinLines(bare);
  if (text === '') return { kind: 'ignored', why: 'the line is empty' };
  if (/^[a-z][a-z0-9+.-]*:/i.test(text)) return verdictOfAddress(text, expected);
  if (/^[?#]?([a-z_]+=)/i.test(text) && /(^|[?&#])(code|error|state)=/.test(text)) {
    const [query = '', fragment = ''] = text.replace(/^\?/, '').split('#');
    return settle(checkCallback(paramsOf(query, fragment), expected));
  }
  // A code has no spaces. Only a URL is long enough to be broken.
  if (isPiece(text, expected))
    return { kind: 'ignored', why: 'this is a piece of an address; paste the whole address' };
  if (text !== bare || isWord(text)) return { kind: 'ignored', why: 'this is neither an address nor a code' };
  return typedCode(decodeText(text), expected);
};
const verdictOfAddress = (text: string, expected: Expected): Verdict => {
  const url = parseUrl(text);
  if (url === undefined) return { kind: 'ignored', why: 'this is not a whole address' };
  const params = paramsOf(url.search.slice(1), url.hash.slice(1));
  if (!params.has('code') && !params.has('error') && params.has('code_challenge'))
    return {
      kind: 'ignored',
      why: 'this is the address to open; paste the one the browser was sent to afterwards',
    };
  return settle(checkCallback(params, expected));
};
/** A pasted text has no browser to relay a fragment. The user can paste again after an incomplete copy. */
const settle = (verdict: Verdict): Verdict => {
  if (verdict.kind === 'failed') return { kind: 'ignored', why: verdict.error.message };
  return verdict.kind === 'relay'
    ? { kind: 'ignored', why: 'the state is missing; paste the whole address from the browser' }
    : verdict;
};

/** The lines of one paste arrive together; a person needs longer to paste again. */
const togetherMs = 300;
const isSettling = (verdict: Verdict): verdict is CallbackResult =>
  verdict.kind === 'code' || verdict.kind === 'refused';
const beginsAddress = (line: string): boolean =>
  /https?:\/\//i.test(line) || /^h(?:t(?:t(?:ps?(?::\/?)?)?)?)?$/i.test(line.trim());
/** Yields lines of stdin. A line that was read too early can be put back. */
class LineReader {
  #lines: AsyncIterator<string>;
  #ahead: Promise<IteratorResult<string>> | undefined;
  constructor(lines: AsyncIterator<string>) {
    this.#lines = lines;
  }
  next(): Promise<IteratorResult<string>> {
    const line = this.#ahead ?? this.#lines.next();
    this.#ahead = undefined;
    return line;
  }
  putBack(line: string): void {
    this.#ahead = Promise.resolve({ value: line });
  }
  /** Returns the next line if it arrives immediately. */
  async nextSoon(host: AuthContext['host']): Promise<string | undefined> {
    this.#ahead ??= this.#lines.next();
    const done = new AbortController();
    const late = host.sleep(togetherMs, done.signal).catch(() => undefined);
    const given = await Promise.race([this.#ahead, late]);
    done.abort();
    if (given === undefined || given.done === true) return undefined;
    this.#ahead = undefined;
    return given.value;
  }
}
/**
 * Terminals and mail programs break long URLs into lines, and every piece can look valid: a URL with an
 * incorrect state, a short code, a bare code. Lines that arrive together are therefore read as one text, and
 * an incomplete line is kept for the following lines.
 */
class PasteReader {
  readonly #context: AuthContext;
  readonly #expected: Expected;
  readonly #lines: LineReader;
  #kept = '';
  constructor(context: AuthContext, expected: Expected, lines: LineReader) {
    this.#context = context;
    this.#expected = expected;
    this.#lines = lines;
  }
  #judge(text: string): Verdict {
    const alone = verdictOfPaste(text, this.#expected);
    if (this.#kept === '' || beginsAddress(text)) return alone;
    const joined = verdictOfPaste(this.#kept + text, this.#expected);
    return isSettling(joined) || !isSettling(alone) ? joined : alone;
  }
  /** With the following lines that are part of the same address. */
  async #readWhole(first: string): Promise<string> {
    let text = first;
    for (;;) {
      const line = await this.#lines.nextSoon(this.#context.host);
      if (line === undefined) return text;
      if (line.trim() === '') continue;
      const joined = text + line.trim();
      const isOther = isSettling(this.#judge(text)) && !isSettling(this.#judge(joined));
      if (isOther || beginsAddress(line)) {
        this.#lines.putBack(line);
        return text;
      }
      text = joined;
    }
  }
  async read(): Promise<CallbackResult | undefined | 'again'> {
    const line = await this.#lines.next();
    if (line.done === true) return undefined;
    if (line.value.trim() === '') return 'again';
    const isAddress = beginsAddress(line.value) || this.#kept !== '';
    const text = isAddress ? await this.#readWhole(line.value.trim()) : line.value;
    const verdict = this.#judge(text);
    if (isSettling(verdict)) return verdict;
    // The next line may be its continuation.
    if (beginsAddress(text)) this.#kept = text;
    else if (this.#kept !== '') this.#kept += text;
    if (verdict.kind === 'ignored') this.#context.log.warn(`The pasted line was not used: ${verdict.why}.`);
    return 'again';
  }
}
/**
 * Returns the first pasted text that belongs to this login; undefined if stdin ends. Other lines are
 * explained and ignored.
 */
export const pastedVerdict = async (
  context: AuthContext,
  expected: Expected,
  signal: AbortSignal,
): Promise<CallbackResult | undefined> => {
  try {
    const lines = context.host.terminal.stdin.lines(signal)[Symbol.asyncIterator]();
    const reader = new PasteReader(context, expected, new LineReader(lines));
    for (;;) {
      const answer = await reader.read();
      if (answer !== 'again') return answer;
    }
  } catch {
    // A closed or foreign stdin does not end a login that waits for the browser.
    return undefined;
  }
};
