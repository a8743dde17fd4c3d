/** The marks that a complete test run must prove. The check after the run (`test/tooling/covered.mjs`) reads this list in the report. */
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { keys } from '../../src/config/settings.ts';
import { exitCodes } from '../../src/core/problem.ts';
import { limits } from '../../src/core/limits.ts';
import { guards } from '../../src/kv/upgrade/guards/all.ts';
import { covers } from '../support/covers.ts';
import { readSpec, rowsFrom } from '../spec/read.ts';

const root = new URL('../../', import.meta.url).pathname;
const read = (path: string): string => readFileSync(root + path, 'utf8');
const isSoak = process.env['OPSCTL_SOAK'] === '1';

/** Marks that no test can reach in a reasonable time. */
const untested: ReadonlySet<string> = new Set([
  // A test would have to wait for ten timeouts.
  'limit/replyTimeouts',
]);
const statements = ['sign-in', 'tracker', 'labels', 'store', 'program'].flatMap((name) =>
  [...read(`docs/spec/${name}.md`).matchAll(/<a id="([\w-]+-\d+)"><\/a>/g)].map(
    ([, id]) => `spec/${name}#${id}`,
  ),
);
/** Statements that no test can prove, each with its reason. */
const reasons = new Map(
  read('test/completeness/statements-without-mark.txt')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line): [string, string] => [line.split(' ')[0] ?? '', line.split(' ').slice(1).join(' ')]),
);
const withoutMark = [...reasons.keys()];
/** Rows from the document, from an RFC, or from a decision. A row with only G describes real behavior beyond the document. */
const isOwed = ({ mark = '' }: Readonly<Record<string, string>>): boolean =>
  mark === '' || /[SRD]/.test(mark);
const checklist = readSpec('oauth-checklist');
const defects = rowsFrom('defects', read('test/completeness/defects.tsv'));

const required = [
  ...keys.map(({ key }) => `setting/${key}`),
  ...guards.map(({ id }) => `guard/${id}`),
  ...Object.keys(limits).map((name) => `limit/${name}`),
  ...Object.keys(exitCodes).map((category) => `exit/${category}`),
  ...defects.filter(({ when }) => when !== 'soak' || isSoak).map(({ id }) => `defect/${id}`),
  ...checklist.filter(isOwed).map(({ number }) => `spec/oauth-checklist#${number}`),
  ...statements.filter((statement) => !withoutMark.includes(statement)),
].filter((mark) => !untested.has(mark));
/** Marks that are known, but not required in this run. */
const optional = [
  ...untested,
  ...withoutMark,
  ...checklist.filter((row) => !isOwed(row)).map(({ number }) => `spec/oauth-checklist#${number}`),
  ...defects.filter(({ when }) => when === 'soak').map(({ id }) => `defect/${id}`),
];

test('every part is listed once, and every exception names an existing part', ({ task }) => {
  task.meta.requires = required;
  task.meta.knows = optional;
  expect(required.filter((mark, i) => required.indexOf(mark) !== i)).toEqual([]);
  expect(withoutMark.filter((statement) => !statements.includes(statement))).toEqual([]);
  expect([...reasons].filter(([, reason]) => reason === '')).toEqual([]);
  const kinds = new Set(required.map((mark) => mark.split('/')[0]));
  expect([...kinds].sort()).toEqual(['defect', 'exit', 'guard', 'limit', 'setting', 'spec']);
});

test(
  'the checklist of the sign-in service has one mark for each line',
  covers('spec/sign-in#check-1'),
  () => {
    const lines = checklist.filter(isOwed).map(({ number }) => `spec/oauth-checklist#${number}`);
    expect(lines.length).toBeGreaterThan(150);
    expect(required).toEqual(expect.arrayContaining(lines));
    expect(checklist.map(({ number }) => number)).toContain('5.20');
  },
);
