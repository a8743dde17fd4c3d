import { join } from 'node:path';
import type { Host } from '../../platform/host.ts';
import type { Report, UpgradeEvent } from '../types.ts';
import { currentEvent, withCurrentFindings } from '../journal/earlier-names.ts';
import { markdownFrom } from './markdown.ts';
import { pageFrom } from './page.ts';

/** report.json, report.md, report.html and the events they were made from, in the directory of the run. */
export const writeReports = async (
  host: Host,
  directory: string,
  report: Report,
  events: readonly UpgradeEvent[],
): Promise<void> => {
  // The last event holds the report itself, which has a file of its own.
  const lines = events
    .filter((event) => event.event !== 'run-finished')
    .map((event) => `${JSON.stringify(event)}\n`);
  await host.files.replace(join(directory, 'events.ndjson'), lines.join(''), 0o600);
  await host.files.replace(join(directory, 'report.json'), `${JSON.stringify(report, null, 2)}\n`, 0o600);
  await host.files.replace(join(directory, 'report.md'), markdownFrom(report), 0o600);
  await host.files.replace(join(directory, 'report.html'), pageFrom(report, events), 0o600);
};

export type StoredReport = { readonly report: Report; readonly events: readonly UpgradeEvent[] };
/** The report of a run that came to an end; undefined when there is none. A run of an older program may have no events. */
export const readReport = async (host: Host, directory: string): Promise<StoredReport | undefined> => {
  const [text, lines] = await Promise.all([
    host.files.read(join(directory, 'report.json')),
    host.files.read(join(directory, 'events.ndjson')),
  ]);
  if (text === undefined) return undefined;
  const events = (lines ?? '')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => currentEvent(JSON.parse(line)) as UpgradeEvent);
  return { report: withCurrentFindings(JSON.parse(text) as Report), events };
};
