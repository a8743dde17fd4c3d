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
test('no name of an export or a file is a participle, a clause or a private word', () => {
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
  expect(names.length).toBeGreaterThan(1000);
  expect(odd.map(({ file, name }) => `${file}: ${name}`)).toEqual([]);
  const oddOnes = ['whoIsAt', 'Seen', 'readWishes', 'noAlarms', 'conduct-fleet', 'planned', 'places'];
  expect(oddOnes.filter((name) => !isOddName(name))).toEqual([]);
  const plain = ['readMachineLock', 'MemberStatus', 'notify', 'allowed', 'workspace-file', 'holdReason'];
  expect(plain.filter(isOddName)).toEqual([]);
});

/** Participles end with `-ed`, except the verbs of the first list, or are irregular. Words such as `read` and `set` are verbs too. */
const verbsWithEd = /^(?:need|feed|seed|speed|embed|shed|bleed|breed|heed|proceed|exceed|succeed|weed)$/;
const irregularParticiples =
  /^(?:(?:un)?(?:begun|brought|bought|caught|chosen|drawn|driven|fallen|found|forgotten|given|gone|grown|held|hidden|kept|known|laid|learnt|led|left|lent|lost|made|meant|met|paid|said|seen|sent|shown|sought|sold|spent|spoken|stolen|struck|stuck|sworn|taken|taught|told|thought|thrown|torn|understood|withdrawn|woken|won|worn|written|built|born|bound|broken|frozen|done|been))$/;
/** Participles that are the term of the field. */
const participleTerms: Readonly<Record<string, string>> = {
  elapsed: 'the time since a start, as in performance.now',
};
const isBareParticiple = (name: string): boolean =>
  /^[a-z]+$/.test(name) &&
  participleTerms[name] === undefined &&
  ((name.endsWith('ed') && !verbsWithEd.test(name)) || irregularParticiples.test(name));
type SyntaxNode = { readonly type: string; readonly [key: string]: any };
const isFunctionNode = (node: SyntaxNode | null | undefined): boolean =>
  node?.type === 'ArrowFunctionExpression' || node?.type === 'FunctionExpression';
/** The name of a function that this node declares: a function, a method, or a member of a type. */
const functionName = (node: SyntaxNode): string | undefined => {
  if (node.type === 'FunctionDeclaration') return node['id']?.name;
  if (node.type === 'VariableDeclarator') return isFunctionNode(node['init']) ? node['id']?.name : undefined;
  if (node.type === 'MethodDefinition') return node['kind'] === 'method' ? node['key']?.name : undefined;
  if (node.type === 'PropertyDefinition')
    return isFunctionNode(node['value']) ? node['key']?.name : undefined;
  if (node.type === 'TSMethodSignature') return node['key']?.name;
  if (node.type !== 'TSPropertySignature') return undefined;
  return node['typeAnnotation']?.typeAnnotation?.type === 'TSFunctionType' ? node['key']?.name : undefined;
};
const functionNamesIn = (source: string): string[] => {
  const found: string[] = [];
  const visit = (value: unknown): void => {
    if (Array.isArray(value)) value.forEach(visit);
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return;
    const name = functionName(value as SyntaxNode);
    if (name !== undefined) found.push(name);
    Object.values(value).forEach(visit);
  };
  visit(parseAst(source, { lang: 'ts' }).body);
  return found;
};
test('no function is named with a bare participle', () => {
  const found = filesOf('src').flatMap((file) =>
    functionNamesIn(readFileSync(root + file, 'utf8'))
      .filter(isBareParticiple)
      .map((name) => `${file}: ${name}`),
  );
  expect(found).toEqual([]);
  const source = `function taken() {} const watched = async () => 1; class A { #settled() {} kept = () => 1; elapsed() {} }
    type B = { readonly shown: (text: string) => string; failed(): void; readonly done: boolean };
    const started = true; const readRows = () => found; const run = { expired: () => 1 };`;
  expect(functionNamesIn(source).filter(isBareParticiple)).toEqual([
    ...['taken', 'watched', 'settled', 'kept', 'shown', 'failed'],
  ]);
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
