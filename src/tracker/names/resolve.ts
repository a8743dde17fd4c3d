import { bare } from '../../core/field.ts';
import { heldRows } from '../../core/held-rows.ts';
import { jsonRow } from '../../core/json.ts';
import { nearest } from '../../core/nearest.ts';
import { AppError, problem, usageError } from '../../core/problem.ts';
import { tracker } from '../../api-specs/tracker/index.ts';
import type { Context } from '../../cli/command.ts';
import { readCache, writeCache } from './cache.ts';
import { type Kind, type Named, kinds } from './kinds.ts';

const folded = (text: string): string => text.toLowerCase();
/** `@ana` and `name:ana` are `ana`. */
const wanted = (text: string): string => text.replace(/^(name:|@)/, '');

/** The things that a text may mean: equal names first, else names that differ in upper and lower case only. */
export const candidates = (things: readonly Named[], text: string): Named[] => {
  const name = wanted(text);
  const exact = things.filter(({ names }) => names.includes(name));
  return exact.length > 0
    ? exact
    : things.filter(({ names }) => names.some((n) => folded(n) === folded(name)));
};

/** Names that are kept and cached; of a longer list only those that the text may mean. */
const MOST_KEPT = 50_000;

/** Reads the names of a list while it arrives. */
const scan = async (
  context: Context,
  { list, query, read }: Kind,
  text: string,
): Promise<{ readonly things: readonly Named[]; readonly isWhole: boolean }> => {
  const input = query ? { query } : {};
  const isList = list.returns !== undefined && bare(list.returns).type === 'array';
  if (!isList)
    return { things: read(await context.call(tracker, list, input, { evenInDryRun: true })), isWhole: true };
  let things: Named[] = [];
  let isWhole = true;
  const held = heldRows(`GET ${list.path}`);
  for await (const batch of await context.rows(tracker, list, input, { evenInDryRun: true })) {
    held.refuseMore(batch.length);
    const found = read(batch.map(jsonRow));
    if (isWhole && things.length + found.length > MOST_KEPT) {
      isWhole = false;
      things = candidates(things, text);
    }
    things.push(...(isWhole ? found : candidates(found, text)));
  }
  return { things, isWhole };
};

const load = async (
  context: Context,
  kind: string,
  text: string,
  isFresh: boolean,
): Promise<{ things: readonly Named[]; wasCached: boolean }> => {
  const { list, query, read } = kinds[kind] ?? { list: undefined, query: undefined, read: () => [] };
  if (list === undefined) throw new Error(`no kind of thing is called ${kind}`);
  const { baseUrl, isMock } = await context.target('tracker');
  // The embedded server has another port, and maybe another state, each time.
  const cached = isFresh || isMock ? undefined : await readCache(context, baseUrl, kind);
  if (cached) return { things: cached, wasCached: true };
  const { things, isWhole } = await scan(context, { list, query, read }, text);
  if (isWhole) await writeCache(context, baseUrl, kind, things);
  return { things, wasCached: false };
};

/** A kind as people write it: a workflow state. */
const words = (kind: string): string => kind.replaceAll('-', ' ');

const none = (kind: string, text: string, things: readonly Named[], path: string): AppError => {
  const close = nearest(
    wanted(text),
    things.flatMap(({ names }) => names),
  );
  return new AppError('not-found', `no ${words(kind)} is called ${JSON.stringify(text)}`, {
    code: 'NO_SUCH_NAME',
    problems: [
      problem(
        path,
        'rule',
        `names ${/^[aeio]/.test(kind) ? 'an' : 'a'} ${words(kind)} that does not exist`,
        close && `did you mean ${close}?`,
      ),
    ],
    tryThis: kinds[kind]?.list.path.endsWith('s')
      ? [`opsctl tracker${kinds[kind].list.path.replace('/', ' ')} list`]
      : [],
  });
};

/** The id behind a name. Ambiguity is an error that lists the candidates; a cached list that lacks the name is read again. */
export const resolveName = async (
  context: Context,
  kind: string,
  text: string,
  path: string,
  isFresh: boolean,
): Promise<string | number> => {
  let { things, wasCached } = await load(context, kind, text, isFresh);
  let found = candidates(things, text);
  if (found.length === 0 && wasCached) {
    ({ things } = await load(context, kind, text, true));
    found = candidates(things, text);
  }
  const [only] = found;
  if (only === undefined) throw none(kind, text, things, path);
  if (found.length > 1) {
    const list = found.map(({ id, names }) => `${id} (${names.join(', ')})`).join('; ');
    throw usageError(`${found.length} ${words(kind)}s are called ${JSON.stringify(text)}: ${list}`, [
      problem(path, 'rule', 'is ambiguous', 'give the id'),
    ]);
  }
  return only.id;
};
