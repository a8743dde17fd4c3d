/**
 * Earlier names in journals, plans, reports and events, with the current names. opsctl reads old files as if
 * they used the current names.
 */
const journalKinds: Readonly<Record<string, string>> = {
  returning: 'reverting',
  returned: 'reverted',
  'no-way-back': 'crossing-confirmed',
};
const levels: Readonly<Record<string, string>> = { stop: 'fail' };
/** Renamed guards. `--accept` accepts both names. */
const guardNames: Readonly<Record<string, string>> = { 'data-folders': 'data-directories' };
export const currentGuard = (name: string): string => guardNames[name] ?? name;
type Row = Record<string, unknown>;
const isRow = (value: unknown): value is Row =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const renameStep = (names: Readonly<Record<string, string>>, value: unknown): unknown =>
  typeof value === 'string' ? (names[value] ?? value) : value;
const currentFinding = (finding: unknown): unknown =>
  isRow(finding)
    ? {
        ...finding,
        level: renameStep(levels, finding['level']),
        guard: renameStep(guardNames, finding['guard']),
      }
    : finding;
/** Renames the findings in a plan file, in the plan of a journal, or in a report. */
export const withCurrentFindings = <T>(holder: T): T => {
  if (!isRow(holder)) return holder;
  const { findings, options } = holder;
  const accept = isRow(options) ? options['accept'] : undefined;
  return {
    ...holder,
    ...(Array.isArray(findings) ? { findings: findings.map(currentFinding) } : {}),
    ...(isRow(options) && Array.isArray(accept)
      ? { options: { ...options, accept: accept.map((name: unknown) => renameStep(guardNames, name)) } }
      : {}),
  };
};
/** Renames the values of one journal line. */
export const currentEntry = (entry: unknown): unknown =>
  isRow(entry)
    ? {
        ...entry,
        kind: renameStep(journalKinds, entry['kind']),
        ...(entry['plan'] === undefined ? {} : { plan: withCurrentFindings(entry['plan']) }),
      }
    : entry;
/** Renames the values of one event of a run. */
export const currentEvent = (event: unknown): unknown =>
  isRow(event)
    ? {
        ...event,
        event: renameStep(journalKinds, event['event']),
        ...(event['plan'] === undefined ? {} : { plan: withCurrentFindings(event['plan']) }),
      }
    : event;
