import { limits } from './limits.ts';
import { type Problem, problem } from './problem.ts';

/** Source texts by path (`fields[2].name`) of the scalars whose YAML value does not read like the file: 007, 1e3, 1.10, True. */
export type ShownTexts = ReadonlyMap<string, string>;
export const noShownTexts: ShownTexts = new Map();

type Node = {
  readonly items?: readonly unknown[];
  readonly value?: unknown;
  readonly source?: unknown;
  readonly type?: unknown;
  readonly anchor?: unknown;
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
