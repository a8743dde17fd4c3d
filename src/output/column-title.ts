/** `stats.num_stories_total` → `STORIES TOTAL`, `profile.mention_name` → `MENTION NAME`, `createdAt` → `CREATED AT`. */
const words = (part: string): string =>
  part
    .replace(/^num_/, '')
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replaceAll(/[_-]+/g, ' ')
    .trim()
    .toUpperCase();

/** Headings in words: the last part of a path, with the parts before it only where two columns would look the same. Pure. */
export const columnTitles = (columns: readonly string[]): string[] => {
  const paths = columns.map((column) => column.split('.'));
  // A number is a place in a list and says nothing alone.
  const depths: number[] = paths.map((path) => (/^\d+$/.test(path.at(-1) ?? '') ? 2 : 1));
  const titleOf = (i: number): string =>
    (paths[i] ?? [])
      .slice(-(depths[i] ?? 1))
      .map(words)
      .join(' ') ||
    columns[i]?.toUpperCase() ||
    '';
  const canGrow = (i: number): boolean => (depths[i] ?? 1) < (paths[i]?.length ?? 0);
  const doubled = (): number[] =>
    columns.flatMap((_, i) =>
      canGrow(i) && columns.some((_, j) => j !== i && titleOf(j) === titleOf(i)) ? [i] : [],
    );
  for (let same = doubled(); same.length > 0; same = doubled())
    for (const i of same) depths[i] = (depths[i] ?? 1) + 1;
  return columns.map((_, i) => titleOf(i));
};
