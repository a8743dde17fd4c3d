/** One literal request and the expected response. */
export type Exchange = {
  readonly line: number;
  readonly method: string;
  readonly path: string;
  readonly body?: string;
  readonly headers: Record<string, string>;
  readonly status: number;
  readonly expected: unknown;
};
/**
 * The source of a case: `document`, a requirement or the vendor's documentation; `rule`, a general rule (API style guide,
 * proto JSON, HTTP); `observed`, an observation of the real service; `choice`, inferred or chosen by this project.
 */
export const sourceKinds = ['document', 'rule', 'observed', 'choice'] as const;
export const sourcesIn = (text: string): string[] => text.split(',').map((one) => one.trim());
export type Case = {
  readonly title: string;
  /** Kinds of the sources. The list is empty if a file does not specify them. */
  readonly sources: readonly string[];
  readonly options: Record<string, string>;
  readonly exchanges: readonly Exchange[];
};

/**
 * Parses a text of cases: `# title`, then optional `@ document, rule` (sources) and `! name=value` lines (server options), then pairs:
 *   POST /labels {"labelType":"SHARED", …}
 *   200 {"id":"$A","revisionId":"1"}
 * `+ name: value` before a request sets a header (`- authorization` removes it).
 * In a response, the first use of "$A" binds its value and later uses compare it; "*" matches any value; "-" is absent;
 * "~text" contains the text.
 */
export const casesFrom = (text: string): Case[] => {
  const cases: {
    title: string;
    sources: string[];
    options: Record<string, string>;
    exchanges: Exchange[];
  }[] = [];
  let headers: Record<string, string> = { authorization: 'Bearer any-token' };
  let request: { line: number; method: string; path: string; body?: string } | undefined;
  for (const [index, raw] of text.split('\n').entries()) {
    const line = raw.trim();
    const current = cases[cases.length - 1];
    if (line === '' || line.startsWith('//')) continue;
    if (line.startsWith('# ')) cases.push({ title: line.slice(2), sources: [], options: {}, exchanges: [] });
    else if (line.startsWith('@ ')) current?.sources.push(...sourcesIn(line.slice(2)));
    else if (line.startsWith('! '))
      for (const pair of line.slice(2).split(' '))
        (current?.options ?? {})[pair.split('=')[0] ?? ''] = pair.split('=')[1] ?? '';
    else if (line.startsWith('+ '))
      headers[line.slice(2, line.indexOf(':'))] = line.slice(line.indexOf(':') + 1).trim();
    else if (line.startsWith('- ')) delete headers[line.slice(2)];
    else if (/^\d{3}\b/.test(line)) {
      if (request === undefined || current === undefined)
        throw new Error(`line ${index + 1}: an answer without a request`);
      current.exchanges.push({
        ...request,
        headers,
        status: Number(line.slice(0, 3)),
        expected: line.length > 3 ? JSON.parse(line.slice(4)) : undefined,
      });
      request = undefined;
      headers = { authorization: 'Bearer any-token' };
    } else {
      const [, method = '', path = '', body] = /^([A-Z]+) (\S+)(?: (.*))?$/.exec(line) ?? [];
      if (method === '') throw new Error(`line ${index + 1}: neither a request nor an answer: ${line}`);
      request = { line: index + 1, method, path, body };
    }
  }
  return cases;
};

export type Bound = Map<string, string>;
export const filled = (text: string, bound: Bound): string =>
  text.replace(/\$([A-Z][A-Z0-9]*)/g, (whole, name: string) => bound.get(name) ?? whole);

/** Returns every difference between a value and the expected value, and binds "$X". */
export const differences = (actual: unknown, expected: unknown, bound: Bound, path = ''): string[] => {
  if (expected === '*') return actual === undefined ? [`${path} is absent`] : [];
  if (expected === '-')
    return actual === undefined ? [] : [`${path} should be absent, is ${JSON.stringify(actual)}`];
  if (typeof expected === 'string' && /^\$[A-Z][A-Z0-9]*$/.test(expected) && !bound.has(expected.slice(1))) {
    if (typeof actual !== 'string' || actual === '')
      return [`${path} should be text, is ${JSON.stringify(actual)}`];
    bound.set(expected.slice(1), actual);
    return [];
  }
  if (typeof expected === 'string') {
    const wanted = filled(expected, bound);
    const holds = wanted.startsWith('~') ? String(actual).includes(wanted.slice(1)) : actual === wanted;
    return holds ? [] : [`${path}: expected ${JSON.stringify(wanted)}, got ${JSON.stringify(actual)}`];
  }
  if (typeof expected !== 'object' || expected === null)
    return actual === expected ? [] : [`${path}: expected ${expected}, got ${JSON.stringify(actual)}`];
  if (typeof actual !== 'object' || actual === null)
    return [`${path}: expected an object, got ${JSON.stringify(actual)}`];
  if (Array.isArray(expected)) {
    if (!Array.isArray(actual) || actual.length !== expected.length)
      return [`${path}: expected ${expected.length} entries, got ${JSON.stringify(actual)}`];
    return expected.flatMap((item, i) => differences(actual[i], item, bound, `${path}[${i}]`));
  }
  return Object.entries(expected).flatMap(([key, value]) =>
    differences((actual as Record<string, unknown>)[key], value, bound, `${path}.${key}`),
  );
};
