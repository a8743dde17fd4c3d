import { readFileSync, readdirSync } from 'node:fs';
import { parseAst } from 'rolldown/parseAst';
import { describe, expect, test } from 'vitest';
import { readSpec } from '../spec/read.ts';

const root = new URL('../../', import.meta.url).pathname;
const filesBelow = (directory: string, ending: RegExp): string[] =>
  readdirSync(`${root}${directory}`, { recursive: true, withFileTypes: true })
    .filter(
      (entry) => entry.isFile() && ending.test(entry.name) && !entry.parentPath.includes('node_modules'),
    )
    .map((entry) => `${entry.parentPath}/${entry.name}`.replace(root, ''))
    .filter((file) => file !== 'test/docs/citations.test.ts');
const text = (file: string): string => readFileSync(`${root}${file}`, 'utf8');
const sources = ['src', 'test', 'bin'].flatMap((directory) => filesBelow(directory, /\.(ts|mjs|js|tsv)$/));

/** `spec/tracker#limits-3` → every anchor that the citation may name. */
const targets = new Set(
  filesBelow('docs/spec', /\.md$/).flatMap((file) => {
    const name = file.replace('docs/', '').replace('.md', '');
    const anchors = [...text(file).matchAll(/<a id="([\w-]+)">/g)].map(([, id]) => `${name}#${id}`);
    return [name, ...anchors];
  }),
);
for (const { number } of readSpec('oauth-checklist')) targets.add(`spec/sign-in#check-${number}`);

/** Returns the positions in a text that cite a missing anchor. */
const dangling = (source: string): string[] => {
  const cited = [
    ...source.matchAll(/\bspec\/(?:sign-in|tracker|labels|store|program)\b(?:#[\w-]+(?:\.\d+)*)?/g),
  ];
  return cited.map(([citation]) => citation).filter((citation) => !targets.has(citation));
};
const records = readdirSync(`${root}docs/decisions`)
  .filter((name) => name !== 'README.md')
  .sort();
const formerNumbers = new Set(
  [...text('src/DECISIONS.md').matchAll(/^\| (\d+) +\|/gm)].map(([, number]) => Number(number)),
);
const retired = /\bdoc ?[123]\b|\b[Dd]ocument [123]\b|\b[Ff]acts (?:labels|tracker|kv|\d|[AC]\d)/g;

test('a citation of docs/spec leads to a statement there', () => {
  expect(targets.size).toBeGreaterThan(250);
  const wrong = sources.flatMap((file) =>
    dangling(text(file)).map((citation) => `${file} cites ${citation}: no such statement in docs/spec`),
  );
  expect(wrong).toEqual([]);
});

test('a cited decision is a record in docs/decisions', () => {
  const wrong = [...sources, 'README.md', 'CONTRIBUTING.md', 'src/ARCHITECTURE.md'].flatMap((file) => [
    ...[...text(file).matchAll(/\b(?:decisions?|DECISIONS(?:\.md)?) (\d+)\b/gi)]
      .filter(([, number]) => !formerNumbers.has(Number(number)))
      .map(([citation]) => `${file} cites "${citation}": cite a record, such as docs/decisions/0022`),
    ...[...text(file).matchAll(/docs\/decisions\/(\d+)/g)]
      .filter(([, number]) => !records.some((name) => name.startsWith(`${number}-`)))
      .map(([citation]) => `${file} cites "${citation}": record not found`),
  ]);
  expect(wrong).toEqual([]);
});

test('decision records are numbered without gaps, have a status and are listed', () => {
  const index = text('docs/decisions/README.md');
  expect(records.map((name) => Number(name.slice(0, 4)))).toEqual(records.map((_, at) => at + 1));
  for (const name of records) {
    const record = text(`docs/decisions/${name}`);
    expect(record, name).toMatch(
      /^# \d{4}\. .+\n\n- Status: (?:active|replaced by \d{4})\n- Date: \d{4}-\d{2}\n/,
    );
    expect(
      [...record.matchAll(/^## (.+)$/gm)].map(([, heading]) => heading),
      name,
    ).toEqual(['Context', 'Decision', 'Consequences']);
    expect(index, name).toContain(`](${name})`);
  }
});

test('code that a decision record names exists', () => {
  const sourceText = sources
    .filter((file) => file.startsWith('src/'))
    .map(text)
    .join('\n');
  const missing = records.flatMap((name) =>
    [...text(`docs/decisions/${name}`).matchAll(/`([a-z]+(?:[A-Z]\w*)+|[A-Z]\w+\.\w+)`/g)]
      .map(([, code = '']) => code)
      .filter((code) => !code.split('.').every((part) => sourceText.includes(part)))
      .map((code) => `${name}: ${code}`),
  );
  expect(missing).toEqual([]);
});

test('no file cites a text outside the repository', () => {
  const wrong = sources.flatMap((file) =>
    [...text(file).matchAll(retired)].map(
      ([citation]) =>
        `${file} cites "${citation}": cite a statement of docs/spec, such as spec/tracker#limits-1`,
    ),
  );
  expect(wrong).toEqual([]);
});

test('every statement has its number once, and sections count without gaps', () => {
  for (const file of filesBelow('docs/spec', /\.md$/)) {
    const ids = [...text(file).matchAll(/<a id="([\w-]+)">/g)].map(([, id = '']) => id);
    expect(ids, file).toEqual([...new Set(ids)]);
    const counts = new Map<string, number>();
    for (const id of ids) {
      const [, section, number] = /^(.*)-(\d+)$/.exec(id) ?? [];
      if (section === undefined) continue;
      expect(Number(number), `${file} ${id}`).toBe((counts.get(section) ?? 0) + 1);
      counts.set(section, Number(number));
    }
  }
});

describe('text that a user sees', () => {
  const strings = (value: unknown): string[] => {
    if (Array.isArray(value)) return value.flatMap(strings);
    if (value === null || typeof value !== 'object') return [];
    const node = value as Record<string, unknown>;
    if (node.type === 'Literal') return typeof node.value === 'string' ? [node.value] : [];
    if (node.type === 'TemplateElement') return [String((node.value as { raw: string }).raw)];
    return Object.values(node).flatMap(strings);
  };
  const unseen = /\bdoc[123]\b|\bdocument [123]\b|\bthe facts\b|^facts \d/i;

  test('user-visible text names no text that a user cannot read', () => {
    const wrong = sources
      .filter((file) => file.startsWith('src/') && file.endsWith('.ts'))
      .flatMap((file) =>
        strings(parseAst(text(file), { lang: 'ts' }))
          .filter((string) => unseen.test(string))
          .map((string) => `${file}: "${string}"`),
      );
    expect(wrong).toEqual([]);
    for (const file of ['README.md', ...filesBelow('completions', /./)])
      expect(text(file).match(unseen), file).toBeNull();
  });
});

test('a dangling citation is found', () => {
  expect(dangling('// spec/tracker#limits-1 and spec/tracker#limits-99, spec/sign-in#check-5.20.')).toEqual([
    'spec/tracker#limits-99',
  ]);
});
