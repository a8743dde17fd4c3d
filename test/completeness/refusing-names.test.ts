import { readFileSync, readdirSync } from 'node:fs';
import { expect, test } from 'vitest';

/** One naming convention for functions that throw (CONTRIBUTING.md, "Names of what refuses"), checked in the folders for labels. */
const directories = ['src/labels', 'src/mock-server/labels'] as const;
const root = new URL('../../', import.meta.url);
const sources = directories.flatMap((directory) =>
  readdirSync(new URL(directory, root))
    .filter((file) => file.endsWith('.ts'))
    .map((file) => ({
      file: `${directory}/${file}`,
      text: readFileSync(new URL(`${directory}/${file}`, root), 'utf8'),
    })),
);

type Declared = { readonly at: string; readonly name: string; readonly returns: string };
/** Returns the top-level functions of a file: the name and the declared type of the result. */
const declaredIn = ({ file, text }: (typeof sources)[number]): Declared[] =>
  [
    ...text.matchAll(/^(?:export )?const (\w+) = (?:async )?(?:<[^>]*>)?\([\s\S]*?\)(?:: ([^=]+?))? =>/gm),
  ].map(([, name = '', returns = '']) => ({ at: `${file}: ${name}`, name, returns: returns.trim() }));
const declared = sources.flatMap(declaredIn);

const asks = /^(is|has|can|are|may|fits)[A-Z]/;
const states = /[a-z](Is|Are|May|Fits|Has)[A-Z]/;
const wrong = ({ name, returns }: Declared): string | undefined => {
  if (asks.test(name) && !/^(boolean|Promise<boolean>|\w+ is .+)$/.test(returns))
    return `asks a question and returns ${returns}: it should return boolean`;
  if (returns === 'void' && (states.test(name) || /^(check|assert|ensure|guard)/.test(name)))
    return 'throws: it should be called refuse…';
  return undefined;
};

test('a predicate returns a boolean, and a function that throws is called refuse…', () => {
  expect(declared.length).toBeGreaterThan(300);
  expect(declared.flatMap((one) => (wrong(one) === undefined ? [] : [`${one.at} ${wrong(one)}`]))).toEqual(
    [],
  );
});

test('the convention rejects what breaks it', () => {
  const [first] = sources;
  const text = [
    'export const isDeletable = (record: Record): void => {',
    'const typeIsNotFrozen = (field: Field): void => {',
    'const checkBadge = (badge: Badge): void => {',
    'const isFine = (one: One): boolean => true;',
    'const refuseWrong = (one: One): void => {',
  ].join('\n');
  const found = declaredIn({ file: first?.file ?? '', text }).map((one) => [
    one.name,
    wrong(one) !== undefined,
  ]);
  expect(found).toEqual([
    ['isDeletable', true],
    ['typeIsNotFrozen', true],
    ['checkBadge', true],
    ['isFine', false],
    ['refuseWrong', false],
  ]);
});

test('an import names its values: no namespace of one letter', () => {
  expect(sources.filter(({ text }) => /import \* as \w from/.test(text)).map(({ file }) => file)).toEqual([]);
});
