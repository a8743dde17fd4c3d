import { childPath, pathPart } from '../../../core/file-name.ts';
import { join } from 'node:path';
import { shapeBy } from '../../../core/shape.ts';
import { storedLines, storedObject } from '../../../core/text.ts';
import type { Host } from '../../../platform/host.ts';
import type { Report, UpgradeEvent } from '../../engine/types.ts';
import { currentEvent, withCurrentFindings } from '../../engine/earlier-names.ts';
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
  const texts = {
    'events.ndjson': lines.join(''),
    'report.json': `${JSON.stringify(report, null, 2)}\n`,
    'report.md': markdownFrom(report),
    'report.html': pageFrom(report, events),
  };
  await Promise.all(
    Object.entries(texts).map(([name, text]) =>
      host.files.replace(childPath(directory, pathPart(name)), text, 0o600),
    ),
  );
};

export type StoredReport = {
  readonly report: Report;
  readonly events: readonly UpgradeEvent[];
  /** The last line of the events was cut off. */
  readonly isTorn?: true;
};
/** What the pages are made of without a question. */
const shape = {
  run: 'text',
  cluster: 'text',
  from: 'text',
  to: 'text',
  outcome: 'text',
  message: 'text',
  started_at: 'text',
  finished_at: 'text',
  owner: { host: 'text' },
  members: [{ name: 'text', gate: ['record'] }],
  steps: ['record'],
  snapshots: ['record'],
  unexpected_log_lines: ['record'],
  findings: ['record'],
} as const;
const ofStep = { step: { id: 'text' } } as const;
const eventShape = shapeBy('event', {
  'run-started': { plan: { observation: 'record' } },
  observed: { observation: 'record' },
  'step-started': ofStep,
  'step-finished': ofStep,
  'step-failed': ofStep,
  'snapshot-saved': { snapshot: 'record' },
});
const anotherWay = ['move it away: opsctl kv report then makes the report from the journal'];
/** The report of a run that came to an end; undefined when there is none. A run of an older program may have no events. */
export const readReport = async (host: Host, directory: string): Promise<StoredReport | undefined> => {
  const paths = [join(directory, 'report.json'), join(directory, 'events.ndjson')] as const;
  const [text, lines] = await Promise.all(paths.map((path) => host.files.read(path)));
  if (text === undefined) return undefined;
  const report = storedObject<Report>(paths[0], text, shape, anotherWay);
  const { values, isTorn } = storedLines(paths[1], lines ?? '', anotherWay, eventShape);
  return {
    report: withCurrentFindings(report),
    events: values.map((value) => currentEvent(value) as UpgradeEvent),
    ...(isTorn ? { isTorn } : {}),
  };
};
