import { invalidArguments, problem } from '../../core/problem.ts';
import type { StoredReport } from '../upgrade/present/write.ts';
import type { StoredOperation } from './found-runs.ts';
import { operationRecord } from './record.ts';

export type ReportForm = 'markdown' | 'html' | 'json';
type Shown = {
  readonly data: object;
  readonly run: string;
  textAs(form: ReportForm): Promise<string>;
};

export const shownReport = (stored: StoredReport): Shown => ({
  data: stored.report,
  run: stored.report.run,
  textAs: async (form) => {
    if (form === 'json') return `${JSON.stringify(stored.report, null, 2)}\n`;
    if (form === 'html')
      return (await import('../upgrade/present/page.ts')).pageFrom(stored.report, stored.events);
    return (await import('../upgrade/present/markdown.ts')).markdownFrom(stored.report);
  },
});

export const shownOperation = (found: StoredOperation): Shown => {
  const record = operationRecord(found);
  return {
    data: record,
    run: record.run,
    textAs: async (form) => {
      if (form === 'json') return `${JSON.stringify(record, null, 2)}\n`;
      if (form === 'html')
        throw invalidArguments([
          problem(
            '--as',
            'rule',
            'a page is made of upgrades, downgrades and restarts',
            'markdown or json, for an operation',
          ),
        ]);
      return (await import('./record-text.ts')).recordMarkdown(record);
    },
  };
};
