import { AppError } from '../../../core/problem.ts';
import type { Host } from '../../../platform/host.ts';
import type { FoundRun } from '../../engine/journal.ts';
import { broughtUpToDate, reportFromJournal } from './report.ts';
import { readReport, type StoredReport } from './write.ts';

/** The written report, or one made from the journal when the program was ended before it wrote it. */
export const storedReport = async (
  host: Host,
  log: { info(text: string): void; warn(text: string): void },
  { run, directory, entries }: FoundRun,
): Promise<StoredReport> => {
  const written = await readReport(host, directory);
  if (written?.isTorn) log.warn(`the last line of ${directory}/events.ndjson was cut off and is left out`);
  const current = written && broughtUpToDate(written, entries);
  if (current !== undefined) return current;
  const rebuilt = reportFromJournal(entries, `${directory}/journal.jsonl`);
  if (rebuilt === undefined)
    throw new AppError('not-found', `run ${run} has no report: it was not brought to an end`, {
      code: 'NO_REPORT',
      tryThis: ['opsctl kv status', 'opsctl kv resume'],
    });
  log.info(
    `run ${run} was ended before its report was written; this one is made from its journal, without checks and canary writes`,
  );
  return rebuilt;
};
