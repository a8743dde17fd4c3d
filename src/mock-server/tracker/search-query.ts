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

/** Words and operators of a query, in order. A word with a colon that is no operator (`http://x`) is a word. */
export const termsFrom = (query: string): Term[] => {
  const terms: Term[] = [];
  for (const [whole, bang, operator, quoted, word] of query.matchAll(TOKEN)) {
    const value = quoted === undefined ? (word ?? '') : quoted.replace(/\\(.)/g, '$1');
    const known = operator !== undefined && OPERATORS.has(operator.toLowerCase());
    const isNot = bang !== undefined && (bang === '!' || known);
    if (known) terms.push({ operator: operator.toLowerCase(), value, not: isNot });
    else {
      const text = operator === undefined ? value : `${operator}:${value}`;
      // A word such as `-5` keeps its dash.
      terms.push({
        operator: '',
        value: bang === '-' && quoted === undefined ? whole : text,
        not: isNot && bang === '!',
      });
    }
  }
  return terms;
};

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
