import { expect, test } from 'vitest';
import { resumeLineOf } from '../../../src/tracker/bulk/earlier-run.ts';

test('the command to resume repeats the flags that determine the meaning of a row', () => {
  expect(
    resumeLineOf({
      file: "Ana's rows.csv",
      delimiter: 'semicolon',
      op: 'create',
      concurrency: 8,
      'create-labels': true,
      journal: 'a.journal',
    }),
  ).toBe(
    "opsctl tracker bulk -f 'Ana'\\''s rows.csv' --delimiter semicolon --op create --journal a.journal --create-labels --resume",
  );
});

test('a plain file needs no quotes and no flags', () => {
  expect(resumeLineOf({ file: 'changes.ndjson', 'create-labels': false })).toBe(
    'opsctl tracker bulk -f changes.ndjson --resume',
  );
});
