/** Rows that a hand-written command covers better, as `resource verb`. */
export const byHand: ReadonlySet<string> = new Set([
  'epics page',
  'files download',
  'files upload',
  'groups stories',
  'search run',
]);
