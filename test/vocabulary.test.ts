import { readFileSync, readdirSync } from 'node:fs';
import { parseAst } from 'rolldown/parseAst';
import { expect, test } from 'vitest';

const root = new URL('../', import.meta.url).pathname;

/**
 * docs/glossary.md as data: project-specific words that the code no longer uses, and the standard term for each. The
 * test searches for `text` in string literals and for `name` in file names and exported names, word by word (`heirLag`
 * contains the word `heir`).
 */
type Retired = { readonly text?: RegExp; readonly name?: RegExp; readonly use: string };
const retired: readonly Retired[] = [
  { text: /\bmend(s|ed|ing)?\b/i, name: /^mend/, use: 'fix, repair' },
  { text: /\bheirs?\b/i, name: /^heirs?$/, use: 'transferee; leader transfer' },
  { text: /\b(in|at) work\b/i, use: 'in progress, current' },
  { text: /\b(gives?|gave|given|giving) back\b/i, use: 'revert, return, release' },
  { text: /\bway back\b/i, use: 'rollback' },
  { text: /\bhopeless\b/i, name: /^hopeless$/, use: 'fatal' },
  { text: /\bprove \$?\{?\w+\}? good\b/i, use: 'health check, verify' },
  { text: /\bits gate\b/i, use: 'health check; become healthy' },
  { text: /\bspeaks? against\b/i, use: 'preflight check' },
  { name: /^(tell|told|said|say|says)$/, use: 'format, report, append, message, logger' },
  { text: /\bsteerings?\b/i, name: /^steer(ing|ings|ed)$/, use: 'process supervisor' },
  { text: /\bcalm\b/i, name: /^calm$/, use: 'delayed election' },
  { text: /\bways? in\b/i, name: /^wayin$/, use: 'sign-in method' },
  { text: /(?<!third[- ])\bparty\b/i, name: /^party$/, use: 'client, token client' },
  { text: /\bsurroundings\b/i, name: /^surroundings$/, use: 'auth context, environment' },
  { text: /\bvault\b/i, name: /^vault$/, use: 'credential store' },
  { text: /\b(un)?seal(s|ed|ing)?\b/i, name: /^(un)?seal(ed)?$/, use: 'encrypt, decrypt' },
  { text: /\bworld\b/i, name: /^world$/, use: 'environment' },
  { text: /\bfolders?\b/i, name: /^folders?$/, use: 'directory' },
  { text: /\bunless given\b/i, use: '(default 3.3)' },
  { text: /\bwrong usage\b/i, use: 'invalid arguments' },
  { name: /^passing$/, use: 'ephemeral' },
  { text: /\bmembers? away\b/i, use: 'unavailable for' },
  { text: /\btest writes\b/i, use: 'canary' },
  { text: /\bwas away\b/i, use: 'unavailable for' },
  { text: /\b(gets?|got) \w+ old version back\b/i, use: 'rollback' },
  { text: /\bleads now\b/i, use: 'elected leader' },
  { text: /\bthat shall\b/i, use: 'target version, new leader' },
  { text: /\btakes? (alarms|faults|\w+ alarms) (back|away)\b/i, use: 'disarm, clear' },
  { text: /\binstead of sending it\b/i, use: 'Print the request without sending it' },
  { text: /\blongest wait for an answer\b/i, use: 'Request timeout' },
  { text: /\b(the|what) documents? (say|says|demand|demands)\b/i, use: 'API reference, the service' },
  { name: /^(trouble|troubles)$/, use: 'error, failure' },
  { name: /^(tallies|tally)$/, use: 'counters' },
  { name: /^(masked)$/, use: 'redacted' },
  { name: /^(paced)$/, use: 'rate-limited' },
  { name: /^(bursts)$/, use: 'batches' },
  { name: /^(wording)$/, use: 'dialect, message' },
  { name: /^(elsewhere)$/, use: 'suggest' },
  { name: /^(fallback)$/, use: 'default' },
];

/** Areas that are not converted yet. Remove a line when its area is converted; do not add lines. */
const pending: readonly string[] = [];

type Node = { readonly type: string } & Record<string, unknown>;
const isNode = (value: unknown): value is Node => typeof (value as Node | null)?.type === 'string';

type Words = { readonly strings: string[]; readonly names: string[] };
const declared = (declaration: Node): string[] => {
  const own = (declaration.id as { name?: string } | null)?.name;
  if (own !== undefined) return [own];
  const list = (declaration.declarations ?? []) as readonly { id: { name?: string } }[];
  return list.flatMap(({ id }) => id.name ?? []);
};

/** Returns the visible words of a file: the text of its literals and the names that it exports. Comments are excluded. */
const wordsOf = (source: string): Words => {
  const words: Words = { strings: [], names: [] };
  const visit = (value: unknown): void => {
    if (Array.isArray(value)) for (const one of value) visit(one);
    if (!isNode(value) || /^Import|^TSImport/.test(value.type)) return;
    if (value.type === 'ExportNamedDeclaration' && isNode(value.declaration))
      words.names.push(...declared(value.declaration));
    // JSON output uses fields with an underscore.
    if ((value.type === 'Property' || value.type === 'TSPropertySignature') && isNode(value.key)) {
      const { name } = value.key as { name?: unknown };
      if (typeof name === 'string' && name.includes('_')) words.names.push(name);
    }
    if (value.type === 'Literal' && typeof value.value === 'string') words.strings.push(value.value);
    // The words around an interpolated value belong together.
    if (value.type === 'TemplateLiteral')
      words.strings.push(
        (value.quasis as readonly { value: { raw: string } }[]).map(({ value: { raw } }) => raw).join('${x}'),
      );
    for (const part of Object.values(value)) visit(part);
  };
  visit(parseAst(source, { lang: 'ts' }));
  return words;
};
const parts = (name: string): string[] =>
  name
    .replace(/([a-z0-9])([A-Z])/g, '$1-$2')
    .toLowerCase()
    .split(/[-_./]/);

const findingsIn = (file: string, { strings, names }: Words): string[] => {
  const inText = strings.flatMap((text) =>
    retired
      .filter((word) => word.text?.test(text))
      .map(
        ({ text: pattern, use }) =>
          `${file}: "${pattern?.exec(text)?.[0]}" in '${text.slice(0, 80)}' (use: ${use})`,
      ),
  );
  const inNames = [file, ...names].flatMap((name) =>
    retired
      .filter((word) => word.name !== undefined && parts(name).some((part) => word.name?.test(part)))
      .map(({ use }) => `${file}: the name ${name} (use: ${use})`),
  );
  return [...inText, ...inNames];
};

/** Names that only earlier versions wrote. opsctl still reads files of these versions. */
const earlierNames: Readonly<Record<string, readonly string[]>> = {
  'kv/engine/journal.ts': ['data-folders'],
};
const currentWords = (file: string, { strings, names }: Words): Words => ({
  strings: strings.filter((text) => earlierNames[file]?.includes(text) !== true),
  names,
});

const files = readdirSync(`${root}src`, { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
  .map((entry) => `${entry.parentPath}/${entry.name}`.replace(`${root}src/`, ''));
const findings = new Map(
  files.map((file) => {
    const words = wordsOf(readFileSync(`${root}src/${file}`, 'utf8'));
    return [file, findingsIn(file, currentWords(file, words))] as const;
  }),
);

test('text, file names and exported names use the words of docs/glossary.md', () => {
  const found = [...findings]
    .filter(([file]) => !pending.some((area) => file.startsWith(area)))
    .flatMap(([, list]) => list);
  expect(found).toEqual([]);
});

test('an area that is converted is no longer pending', () => {
  const done = pending.filter(
    (area) => ![...findings].some(([file, list]) => file.startsWith(area) && list.length > 0),
  );
  expect(done, 'take these lines out of `pending`').toEqual([]);
});

test('a retired word is found in text and in names, and not in comments, imports or other words', () => {
  const source = `// a folder
import { folder } from './folder.ts';
export const heirLag = 1;
export const amended = 'amended, third-party, sealant';
const text = \`mend \${heirLag}\`;
const row = { is_mended: true, mended: true };`;
  expect(findingsIn('a.ts', wordsOf(source))).toEqual([
    'a.ts: "mend" in \'mend ${x}\' (use: fix, repair)',
    'a.ts: the name heirLag (use: transferee; leader transfer)',
    'a.ts: the name is_mended (use: fix, repair)',
  ]);
});

test('the glossary has the term that each retired word is replaced by', () => {
  const glossary = readFileSync(`${root}docs/glossary.md`, 'utf8').toLowerCase();
  const missing = retired
    .map(({ use }) => use.split(/[,;]/)[0]?.toLowerCase() ?? use)
    .filter((term) => !glossary.includes(term));
  expect(missing, 'add a row to docs/glossary.md').toEqual([]);
});
