import type { BulkOptions } from './options.ts';

/** One word of a line that is typed into a shell. */
const shellWord = (text: string): string =>
  /^[\w./@%+=:,-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;

/** What decides what a row means is said again, and so is the place of the journal. */
export const bulkLineOf = (values: BulkOptions): string => {
  const again = (['input-format', 'delimiter', 'resource', 'op', 'journal'] as const).flatMap((name) =>
    values[name] === undefined ? [] : [` --${name} ${shellWord(String(values[name]))}`],
  );
  const made = (['create-labels', 'create-categories'] as const).flatMap((name) =>
    values[name] ? [` --${name}`] : [],
  );
  return `opsctl tracker bulk -f ${shellWord(String(values.file))}${again.join('')}${made.join('')}`;
};

export const resumeLineOf = (values: BulkOptions): string => `${bulkLineOf(values)} --resume`;
