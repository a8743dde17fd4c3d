/** Messages, comments and test titles use the constructions of plain technical English. */
import { readFileSync, readdirSync } from 'node:fs';
import { basename } from 'node:path';
import { parseAst } from 'rolldown/parseAst';
import { expect, test } from 'vitest';
import { hitsIn } from './constructions.ts';

const root = new URL('../../', import.meta.url).pathname;
const filesOf = (directory: string): string[] =>
  readdirSync(root + directory, { recursive: true, withFileTypes: true })
    .filter(
      (entry) => entry.isFile() && entry.name.endsWith('.ts') && !entry.parentPath.includes('/fixtures'),
    )
    .map((entry) => `${entry.parentPath}/${entry.name}`.replace(root, ''));

type Node = { readonly type: string } & Record<string, unknown>;
const isNode = (value: unknown): value is Node => typeof (value as Node | null)?.type === 'string';
const isSentence = (text: string): boolean => {
  const words = text.match(/[A-Za-z][a-z']+/g) ?? [];
  return words.length >= 4 && words.join('').length / text.length > 0.55;
};

/** The text of string literals with at least four words. */
const messagesIn = (source: string): string[] => {
  const found: string[] = [];
  const visit = (value: unknown): void => {
    if (Array.isArray(value)) for (const one of value) visit(one);
    if (!isNode(value) || /^Import|^TSImport/.test(value.type)) return;
    if (value.type === 'Literal' && typeof value.value === 'string') found.push(value.value);
    if (value.type === 'TemplateLiteral')
      found.push(
        (value.quasis as readonly { value: { raw: string } }[]).map(({ value: { raw } }) => raw).join('X'),
      );
    for (const part of Object.values(value)) visit(part);
  };
  visit(parseAst(source, { lang: 'ts' }));
  return found.filter(isSentence).map((text) => text.replaceAll('\n', ' '));
};

/** Returns the comments on separate lines, one text for each block. */
const commentsIn = (source: string): string[] => {
  const blocks = source.match(/^[ \t]*\/\*[\s\S]*?\*\/|(?:^[ \t]*\/\/.*\n?)+/gm) ?? [];
  return blocks
    .filter((text) => !/biome-ignore|@ts-/.test(text))
    .map((text) => text.replace(/^[ \t]*(?:\/\/|\/?\*+\/?)/gm, '').replace(/\*\/|\s+/g, ' '));
};

const titlesIn = (source: string): string[] =>
  [...source.matchAll(/\b(?:test|it|describe)(?:\.\w+)*\(\s*(['"`])((?:\\.|(?!\1)[\s\S])*)\1/g)].map(
    ([, , text]) => (text ?? '').replace(/\$\{[^}]*\}/g, 'X'),
  );

/** Limits in hits per 1,000 words for each kind of text. The largest folder also has its own limit. */
const areas: readonly (readonly [
  area: string,
  files: readonly string[],
  textsIn: (source: string) => string[],
  limit: number,
])[] = [
  ['messages', filesOf('src'), messagesIn, 3],
  ['messages of src/kv', filesOf('src/kv'), messagesIn, 3],
  ['comments', filesOf('src'), commentsIn, 3],
  ['comments of src/kv', filesOf('src/kv'), commentsIn, 3],
  ['test titles', filesOf('test').filter((file) => file.endsWith('.test.ts')), titlesIn, 3],
];

test.each(areas)('the %s stay below the limit of odd constructions', (_, files, textsIn, limit) => {
  const found = files.map((file) => hitsIn(file, textsIn(readFileSync(root + file, 'utf8')).join('\n')));
  const words = found.reduce((sum, file) => sum + file.words, 0);
  const hits = found.flatMap((file) => file.hits);
  const list = hits.map(({ at, text, write }) => `${at}: "${text}" (write: ${write})`).join('\n');
  expect(words).toBeGreaterThan(1000);
  expect((hits.length / words) * 1000, list).toBeLessThanOrEqual(limit);
});

test('messages, comments and titles are found in a source', () => {
  const source = `// The run goes on.\nconst a = 'nobody was asked for the token';\ntest('a file that is no journal', () => {});\n`;
  expect(commentsIn(source).join('\n')).toContain('The run goes on.');
  expect(messagesIn(source)).toContain('nobody was asked for the token');
  expect(titlesIn(source)).toEqual(['a file that is no journal']);
  for (const texts of [commentsIn(source), messagesIn(source), titlesIn(source)])
    expect(hitsIn('a.ts', texts.join('\n')).hits).not.toEqual([]);
});

/** Participles that are not a name on their own: they do not say what they describe. */
const participles =
  /^(?:asked|acted|addressed|agreed|alarmed|arrived|begun|brought|carried|chosen|classified|conducted|decided|described|drained|drifted|emitted|fallen|fitted|followed|forced|found|framed|gated|given|gone|held|judged|kept|learned|listed|looked|made|meant|named|needed|neutral|noted|operated|planned|prepared|proved|proxied|reached|reworded|said|seen|settled|shown|spoken|switched|taken|told|touched|tried|twinned|wanted|watched|wished|worded|written)$/i;
/** Names that continue a sentence at their call site. */
const clauses =
  /^(?:others?[A-Z]|who[A-Z]|why[A-Z]|which[A-Z]|what[A-Z]|perhaps|just[A-Z]|still[A-Z]|only[A-Z]|never[A-Z]|done[A-Z]|no[A-Z][a-z]+$|all[A-Z][a-z]+s$|not[A-Z])|(?:Than|Perhaps|Anew|Already|Meanwhile|Beside|Beyond|Ahead|Along|Together|Somehow|Others[A-Z]|ByItself|IsAt|IsIn|AsksFor)(?:[A-Z]|$)/;
/** Words that a search for the standard term does not find. */
const privateWords =
  /^(?:wish|wishes|cure|clues|cue|colleague|conduct|conducted|sights?|mood|patience|patient|patiently|distrust|judge|judgement|neighbou?rs?|fallen|twins?|glance|told|tells|teller|saying|wanted|drained|gone|deeds?|taken|taker|taking|takeover|standing|named|naming|seen|theirs|mine|ours|asking|asked|said|says|say|tell|steer|perhaps)$/;
/** Words that need a second word: `holdReason`, but not `hold`. */
const vagueWords =
  /^(?:places?|names|notes?|others?|own|asks?|acts?|see|stale|fresh|early|late|look|lookup|holds?|held|whole|once|again|good|bad|made|makers?|making|room|shown?|shows|ways?|kept|keeper|behind)$/;
const isOddName = (name: string): boolean => {
  const parts = name
    .replace(/([a-z\d])([A-Z])/g, '$1 $2')
    .split(/[\s_.-]+/)
    .map((part) => part.toLowerCase());
  const [first = ''] = parts;
  if (parts.length === 1 && (participles.test(first) || vagueWords.test(first))) return true;
  return clauses.test(name) || parts.some((part) => privateWords.test(part));
};
test('at most 5 of 1,000 names of exports and files are participles, clauses or private words', () => {
  const files = filesOf('src');
  const exported = files.flatMap((file) =>
    [
      ...readFileSync(root + file, 'utf8').matchAll(
        /^export (?:async )?(?:function\*?|const|class|type|interface|enum) ([A-Za-z_$][\w$]*)/gm,
      ),
    ].map(([, name]) => ({ file, name: name as string })),
  );
  const names = [...exported, ...files.map((file) => ({ file, name: basename(file, '.ts') }))];
  const odd = names.filter(({ name }) => isOddName(name));
  const list = odd.map(({ file, name }) => `${file}: ${name}`).join('\n');
  expect(names.length).toBeGreaterThan(1000);
  expect((odd.length / names.length) * 1000, list).toBeLessThanOrEqual(5);
  const oddOnes = ['whoIsAt', 'Seen', 'readWishes', 'noAlarms', 'conduct-fleet', 'planned', 'places'];
  expect(oddOnes.filter((name) => !isOddName(name))).toEqual([]);
  const plain = ['readMachineLock', 'MemberStatus', 'notify', 'allowed', 'workspace-file', 'holdReason'];
  expect(plain.filter(isOddName)).toEqual([]);
});

test('messages use American spelling', () => {
  const british = /\b(?:colour|behaviour|organisation|cancelled|licence|neighbour|recognis|labelled)/i;
  const found = filesOf('src').flatMap((file) =>
    messagesIn(readFileSync(root + file, 'utf8')).flatMap((text) =>
      british.test(text) ? [`${file}: ${text}`] : [],
    ),
  );
  expect(found).toEqual([]);
});
