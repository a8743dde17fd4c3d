/** Whether the last two letters of both beginnings changed places. */
const isSwap = (a: string, b: string, i: number, j: number): boolean =>
  i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];

/** Edit distance with early end; two letters that changed places count as one edit. Names longer apart than `limit` are all equally far. */
const distance = (a: string, b: string, limit: number): number => {
  if (Math.abs(a.length - b.length) > limit) return limit + 1;
  let before: number[] = [];
  let previous = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const change = a[i - 1] === b[j - 1] ? 0 : 1;
      const [removed = 0, kept = 0] = [previous[j], previous[j - 1]];
      const swap = isSwap(a, b, i, j) ? (before[j - 2] ?? 0) + 1 : limit + 1;
      row[j] = Math.min(removed + 1, (row[j - 1] ?? 0) + 1, kept + change, swap);
    }
    [before, previous] = [previous, row];
  }
  return previous[b.length] ?? limit + 1;
};

/** `desc` is the beginning of `description`, and `members` of `member_ids` but for its last letter. */
const begun = (typed: string, known: readonly string[]): string | undefined => {
  const stem = typed.toLowerCase().replace(/s$/, '');
  if (stem.length < 3) return undefined;
  return known.filter((name) => name.toLowerCase().startsWith(stem)).sort((a, b) => a.length - b.length)[0];
};

/** The known name that a mistyped one most likely meant, if any is close. */
export const nearest = (typed: string, names: Iterable<string>): string | undefined => {
  const known = [...names];
  const limit = typed.length < 5 ? 1 : typed.length < 9 ? 2 : 3;
  let best: string | undefined;
  let least = limit + 1;
  for (const name of known) {
    const far = distance(typed.toLowerCase(), name.toLowerCase(), limit);
    // People seldom mistype the first letter: `plugin` does not mean `login`.
    const isOther = far > 1 && typed[0]?.toLowerCase() !== name[0]?.toLowerCase();
    if (far < least && !isOther) [best, least] = [name, far];
  }
  return best ?? begun(typed, known);
};
