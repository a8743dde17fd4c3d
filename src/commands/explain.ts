import { list, str } from '../core/field.ts';
import { nearest } from '../core/nearest.ts';
import { AppError } from '../core/problem.ts';
import { recordResult, rowsResult } from '../core/result.ts';
import { defineCommand, type Command } from '../cli/command.ts';

const explain = defineCommand({
  path: ['explain'],
  summary: 'Explain a guard, an error code, an exit code, a setting or a field',
  about:
    'Says why it exists, what is checked and what to do, from the tables of the program. Without a name everything that has a page is listed.',
  args: [
    {
      name: 'name',
      effects: [],
      field: list(str()),
      summary: 'quorum-survives, NO_TOKEN, 11, tracker.url, or the words of a field',
      rest: true,
      optional: true,
      complete: 'explainable',
    },
  ],
  examples: [
    { line: 'opsctl explain quorum-survives', says: 'A guard of the upgrade' },
    { line: 'opsctl explain NO_TOKEN', says: 'The code of an error' },
    { line: 'opsctl explain 20', says: 'An exit code' },
    { line: 'opsctl explain tracker labels create name', says: 'A field, with its limits' },
  ],
  run: async ({ host }, { name: words = [] }) => {
    const { explainable, explanationOf } = await import('../cli/known.ts');
    if (words.length === 0) return rowsResult(await explainable(host), { name: 'name' });
    const page = await explanationOf(host, words);
    if (page === undefined) {
      const names = (await explainable(host)).map(({ name }) => name);
      const close = nearest(words.join(' '), names);
      throw new AppError(
        'usage',
        `nothing is called ${words.join(' ')}${close === undefined ? '' : `; did you mean ${close}?`}`,
        { code: 'NOTHING_TO_EXPLAIN', tryThis: [`opsctl explain${close === undefined ? '' : ` ${close}`}`] },
      );
    }
    const { helpWidth, pageText } = await import('../output/page-text.ts');
    return recordResult(page, { text: pageText(page, helpWidth(host.terminal.stdout.columns)) });
  },
});

export const commands: readonly Command[] = [explain];
