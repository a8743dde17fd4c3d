/** One condition of a search: `!owner:ana` is `{ operator: 'owner', value: 'ana', not: true }`; a bare word has operator ''. */
export type Term = { readonly operator: string; readonly value: string; readonly not: boolean };

/** spec/tracker#search: "AND by default, `!` inverts; quoted strings". */
const TOKEN = /(!|-)?(?:([a-z][a-z-]*):)?(?:"((?:[^"\\]|\\.)*)"|(\S+))/gi;

const OPERATORS = new Set([
  'id',
  'epic',
  'label',
  'project',
  'state',
  'owner',
  'requester',
  'type',
  'estimate',
  'team',
  'group',
  'iteration',
  'objective',
  'milestone',
  'created',
  'updated',
  'completed',
  'moved',
  'due',
  'is',
  'has',
  'title',
  'name',
  'description',
  'text',
  'skill-set',
  'product-area',
  'priority',
  'severity',
]);

/** A word with a colon that is no operator (`http://x`) is a word. A word such as `-5` keeps its dash. */
const termOf = ([whole, bang, operator, quoted, word]: RegExpMatchArray): Term => {
  const value = quoted === undefined ? (word ?? '') : quoted.replace(/\\(.)/g, '$1');
  const known = operator?.toLowerCase();
  if (known !== undefined && OPERATORS.has(known)) return { operator: known, value, not: bang !== undefined };
  const text = operator === undefined ? value : `${operator}:${value}`;
  return { operator: '', value: bang === '-' && quoted === undefined ? whole : text, not: bang === '!' };
};

/** Words and operators of a query, in order. */
export const termsFrom = (query: string): Term[] => [...query.matchAll(TOKEN)].map(termOf);

const DAY_MS = 86_400_000;
const dayStart = (text: string, now: number): number | undefined => {
  const today = Math.floor(now / DAY_MS) * DAY_MS;
  if (text === 'today') return today;
  if (text === 'yesterday') return today - DAY_MS;
  if (text === 'tomorrow') return today + DAY_MS;
  return /^\d{4}-\d{2}-\d{2}$/.test(text) ? Date.parse(`${text}T00:00:00Z`) : undefined;
};

/** `2023-01-01`, `today`, `2023-01-01..2023-02-01`, `*..2023-01-01`; both ends included. Undefined for anything else. */
export const daysFrom = (
  text: string,
  now: number,
): { readonly from: number; readonly to: number } | undefined => {
  const [first = '', last = first] = text.toLowerCase().split('..');
  const from = first === '*' ? Number.NEGATIVE_INFINITY : dayStart(first, now);
  const to = last === '*' ? Number.POSITIVE_INFINITY : dayStart(last, now);
  if (from === undefined || to === undefined || (first === '*' && last === '*' && !text.includes('..')))
    return undefined;
  return { from, to: to + DAY_MS - 1 };
};
