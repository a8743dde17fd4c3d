import { limits } from './limits.ts';
import { type Problem, problem, cutText } from './problem.ts';

/** Source texts by path (`fields[2].name`) of the scalars whose YAML value does not read like the file: 007, 1e3, 1.10, True. */
export type ShownTexts = ReadonlyMap<string, string>;
export const noShownTexts: ShownTexts = new Map();

type Node = {
  readonly items?: readonly unknown[];
  readonly value?: unknown;
  readonly source?: unknown;
  readonly type?: unknown;
  readonly anchor?: unknown;
  readonly range?: readonly number[] | null;
};
const isNode = (value: unknown): value is Node => typeof value === 'object' && value !== null;
const isAlias = (node: Node): node is { readonly source: string } =>
  typeof node.source === 'string' && !('value' in node) && !('items' in node);

/** Only plain scalars are interpreted; an empty one and a quoted one read as they are. */
const differs = ({ type, value, source }: Node): boolean =>
  type === 'PLAIN' &&
  typeof source === 'string' &&
  source !== '' &&
  (typeof value === 'number' || typeof value === 'bigint' || typeof value === 'boolean' || value === null) &&
  String(value) !== source;

const keyOf = (key: unknown): string => (isNode(key) && 'value' in key ? String(key.value) : String(key));

type Visit = { readonly node: Node; readonly path: string };

/**
 * The nodes of a document with their paths, in the order of the file. An alias is replaced by the node of its
 * anchor.
 */
function* nodesIn(root: unknown): Generator<Visit> {
  const anchors = new Map<string, unknown>();
  const open: { readonly node: unknown; readonly path: string }[] = [{ node: root, path: '' }];
  for (let seen = 0; open.length > 0 && seen <= limits.yamlParts; seen += 1) {
    const { node: given, path } = open.pop() ?? { node: undefined, path: '' };
    if (!isNode(given)) continue;
    if (typeof given.anchor === 'string') anchors.set(given.anchor, given);
    const node = isAlias(given) ? anchors.get(given.source) : given;
    if (!isNode(node)) continue;
    yield { node, path };
    const inner = (node.items ?? []).map((item, i) => {
      const { key, value } = item as { readonly key?: unknown; readonly value?: unknown };
      const isPair = isNode(item) && 'key' in item;
      const step = isPair ? `${path === '' ? '' : '.'}${keyOf(key)}` : `[${i}]`;
      return { node: isPair ? value : item, path: `${path}${step}` };
    });
    for (const one of inner.reverse()) open.push(one);
  }
}

/** The scalars of a parsed document that a reader of the file would misread. Pure. */
export const shownTexts = (root: unknown): ShownTexts => {
  const found = new Map<string, string>();
  for (const { node, path } of nodesIn(root)) if (differs(node)) found.set(path, String(node.source));
  return found;
};

/** Paths of the keys without a value (`fields:`); `null` and `~` are values. Pure. */
export const emptyKeys = (root: unknown): string[] => {
  const found: string[] = [];
  for (const { node, path } of nodesIn(root))
    if (node.value === null && !node.source && !path.endsWith(']') && path !== '') found.push(path);
  return found;
};

/** Keys of other programs, which opsctl leaves out. */
const OF_USER = /(?:^|\.)x-/;
/** Words of a fixed list cannot continue behind the #. */
const FIXED_WORD = /(?:^|\.)(?:state|type|role|op|resource|copyMode|disabledPolicy)$/;
/** What YAML leaves out of a text without quotes: `see issue #12`, `#112233`. People write a space after the # of a comment. */
const textAfter = ({ type, value, source, range }: Node, text: string): string | undefined => {
  const isText = type === 'PLAIN' && (typeof value === 'string' || (value === null && !source));
  const end = isText ? range?.[1] : undefined;
  return end === undefined ? undefined : /^[ \t]*(#[^\s#][^\r\n]*)/.exec(text.slice(end, end + 300))?.[1];
};
/**
 * Keys whose value is missing or shorter than a reader of the file expects. A key without a value never removes anything,
 * because its rows or its color may be comments. Pure.
 */
export const unclearValues = (
  root: unknown,
  text: string,
  hint = 'write a value, or remove the key',
): Problem[] => {
  const found = new Map<string, Problem>();
  for (const path of emptyKeys(root)) found.set(path, problem(path, 'null', 'has no value', hint));
  for (const { node, path } of /#[^\s#]/.test(text) ? nodesIn(root) : []) {
    const rest = textAfter(node, text);
    if (rest === undefined || FIXED_WORD.test(path)) continue;
    const what = node.value === null ? 'has no value' : `is only ${JSON.stringify(node.value)}`;
    const whole = node.value === null ? rest : `${String(node.value)} ${rest}`;
    const fix = `write ${JSON.stringify(whole)} in quotes, or a space after # for a comment`;
    found.set(
      path,
      problem(path, 'format', `${what}: ${JSON.stringify(cutText(rest, 60))} is a comment in YAML`, fix),
    );
  }
  return [...found.values()].filter(({ path }) => !OF_USER.test(path));
};

/** What a file shows for one entry of a list that is the whole document. Pure. */
export const shownBelow = (shown: ShownTexts, prefix: string): ShownTexts =>
  new Map(
    [...shown].flatMap(([path, source]) =>
      path.startsWith(prefix) ? [[path.slice(prefix.length), source] as const] : [],
    ),
  );

const kindOf = (source: string): string => {
  // The other words have these values in a document that starts with %YAML 1.1.
  if (/^(true|false|y|yes|n|no|on|off)$/i.test(source)) return 'true or false';
  return /^(~|null)$/i.test(source) ? 'null' : 'a number';
};

/** The refusal of a scalar that would be stored as other text than the file shows. */
export const misreadText = (path: string, source: string): Problem =>
  problem(path, 'type', `must be text; ${source} is ${kindOf(source)} in YAML`, `write "${source}"`);

/** Problems of values of the wrong type, in the words of the file. Pure. */
export const inWordsOfFile = (problems: readonly Problem[], shown: ShownTexts): Problem[] =>
  problems.map((one) => {
    const source = shown.get(one.path);
    const isText = one.rule === 'type' && one.message.startsWith('must be text');
    return source === undefined || !isText ? one : { ...one, ...misreadText(one.path, source) };
  });
const switches: ReadonlyMap<string, boolean> = new Map([
  ...['y', 'Y', 'yes', 'Yes', 'YES', 'on', 'On', 'ON'].map((word) => [word, true] as const),
  ...['n', 'N', 'no', 'No', 'NO', 'off', 'Off', 'OFF'].map((word) => [word, false] as const),
]);
const octal = /^([-+]?)0[oO]?([0-7]+)$/;
const whole = /^([-+]?)((?:0[xX][\da-fA-F]+)|(?:0[bB][01]+)|\d+)$/;
const fraction = /^[-+]?(\.\d+|\d+(\.\d*)?)([eE][-+]?\d+)?$/;
/**
 * Returns an integer as a number that is never above its exact value. Rounded to the nearest number, 2^64 could not be distinguished from
 * 2^64 - 1, which is the limit of a setting.
 */
const floorInteger = (digits: string, isNegative: boolean): number => {
  const near = isNegative ? -Number(digits) : Number(digits);
  // No setting has more than 64 binary digits.
  if (Number.isSafeInteger(near) || digits.length > 80) return near;
  const exact = isNegative ? -BigInt(digits) : BigInt(digits);
  if (BigInt(near) <= exact) return near;
  // The next number below: adjacent numbers differ by 2^-53 of their value.
  return near > 0 ? near * (1 - 2 ** -53) : near * (1 + 2 ** -52);
};
/**
 * Returns the value of a plain scalar in YAML 1.1 as programs in Go read it, if it differs from YAML 1.2
 * (measured with servers of 3.3, 3.4 and 3.5). Pure.
 */
export const goScalar = (source: string, value: unknown): unknown => {
  const isOn = switches.get(source);
  if (isOn !== undefined) return isOn;
  const digits = source.replaceAll('_', '');
  if (!/^[-+.\d]/.test(source) || digits === '') return value;
  // After a leading point, an underscore is part of a number only between two digits.
  if (source.startsWith('.') && /(?<!\d)_|_(?!\d)/.test(source)) return value;
  const [, minus, eight] = octal.exec(digits) ?? [];
  if (eight !== undefined) return parseInt(`${minus}${eight}`, 8);
  const [, sign, number] = whole.exec(digits) ?? [];
  if (number !== undefined) return floorInteger(number, sign === '-');
  return fraction.test(digits) ? Number(digits) : value;
};
/** An explicit tag of a value, as the `yaml` package accepts it. */
export type ScalarTag = {
  readonly tag: string;
  readonly resolve: (text: string, onError: (message: string) => void) => unknown;
};
const truths: ReadonlyMap<string, boolean> = new Map([
  ...switches,
  ...['true', 'True', 'TRUE'].map((word) => [word, true] as const),
  ...['false', 'False', 'FALSE'].map((word) => [word, false] as const),
]);
const goInteger = (text: string): unknown => {
  const digits = text.replaceAll('_', '');
  // Programs in Go read 08 as a fraction.
  const isInteger = octal.test(digits) || (whole.test(digits) && !/^[-+]?0\d/.test(digits));
  return isInteger ? goScalar(text, undefined) : undefined;
};
/** What a text with an explicit tag is in programs in Go. Undefined: they reject it. */
const goTagged: Readonly<Record<string, (text: string) => unknown>> = {
  bool: (text) => truths.get(text),
  int: goInteger,
  float: (text) => (truths.has(text) ? undefined : goScalar(text, undefined)),
  binary: (text) => (/^[\w+/=\s]*$/.test(text) ? Buffer.from(text, 'base64').toString() : undefined),
  timestamp: (text) => (/^\d{4}-\d\d?-\d\d?/.test(text) ? text : undefined),
};
/**
 * Tags whose values in YAML 1.1 differ from YAML 1.2, as programs in Go read them (measured with servers of
 * 3.3, 3.4 and 3.5): `!!bool yes` and `!!bool "yes"` are true, and a date is a text.
 */
export const goTags: ScalarTag[] = Object.entries(goTagged).map(([name, read]) => ({
  tag: `tag:yaml.org,2002:${name}`,
  resolve: (text, onError) => {
    const value = read(text);
    if (value === undefined)
      onError(`${JSON.stringify(cutText(text, 60))} is not a value of the type !!${name}`);
    return value;
  },
}));
