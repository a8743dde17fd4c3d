/** Path templates of both dialects: `/labels/{label-public-id}` and `/{name=labels/*}:publish`. */
type Segment = { readonly literal: string } | { readonly param: string; readonly pattern: readonly string[] };
export type Template = { readonly segments: readonly Segment[]; readonly verb: string };

const VERB = /:([A-Za-z]+)$/;

/** Parses a template once; throws on a malformed one, which is a bug in a table. */
export const template = (path: string): Template => {
  const verb = VERB.exec(path)?.[1] ?? '';
  const body = verb === '' ? path : path.slice(0, -verb.length - 1);
  const segments: Segment[] = [];
  for (const part of body.slice(1).match(/\{[^}]*\}|[^/]+/g) ?? []) {
    if (!part.startsWith('{')) {
      segments.push({ literal: part });
      continue;
    }
    const [param = '', pattern = '*'] = part.slice(1, -1).split('=');
    segments.push({ param, pattern: pattern.split('/') });
  }
  return { segments, verb };
};

export const paramNames = (path: string): string[] =>
  template(path).segments.flatMap((s) => ('param' in s ? [s.param] : []));

/** Keeps `@` and `:` readable: both are legal inside a path segment, and `:verb` is added after. */
const encodeSegment = (text: string): string => encodeURIComponent(text).replaceAll('%40', '@');

/** The path with its parameters filled in and percent-encoded, for a template that is read once. A `labels/*` parameter keeps its slashes. */
export const filler = (path: string): ((params: Readonly<Record<string, unknown>>) => string) => {
  if (!path.includes('{')) return () => path;
  const { segments, verb } = template(path);
  const end = verb === '' ? '' : `:${verb}`;
  return (params) => {
    const parts = segments.map((s) => {
      if ('literal' in s) return s.literal;
      const value = String(params[s.param]);
      return s.pattern.length > 1 ? value.split('/').map(encodeSegment).join('/') : encodeSegment(value);
    });
    return `/${parts.join('/')}${end}`;
  };
};

export const fill = (path: string, params: Readonly<Record<string, unknown>>): string => filler(path)(params);
