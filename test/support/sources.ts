/** Reads source files for the tests of rules: which texts a source puts together, however it writes them. */
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { parseAst } from 'rolldown/parseAst';
import { isNode } from '../tooling/syntax.mjs';

export type Node = {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [key: string]: any;
};
export const parseSource = (source: string): Node => parseAst(source, { lang: 'ts' }) as unknown as Node;

const root = new URL('../../src/', import.meta.url).pathname;
/** All sources of the program by their path below src. */
export const readSources = (): (readonly [name: string, text: string])[] =>
  readdirSync(root, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => [name, readFileSync(join(root, name), 'utf8')] as const);

export const walk = (
  node: unknown,
  visit: (node: Node, parent: Node | undefined) => void,
  parent?: Node,
): void => {
  if (Array.isArray(node)) {
    for (const one of node) walk(one, visit, parent);
    return;
  }
  if (typeof node !== 'object' || node === null) return;
  const own = isNode(node) ? (node as Node) : undefined;
  if (own !== undefined) visit(own, parent);
  for (const value of Object.values(node)) if (typeof value === 'object') walk(value, visit, own ?? parent);
};

export type Constants = ReadonlyMap<string, Node>;
/** The initial values of all variables of a source by name. A name that has two values is left out. */
export const constantsOf = (program: Node): Constants => {
  const found = new Map<string, Node>();
  const twice = new Set<string>();
  walk(program, (node) => {
    if (node.type !== 'VariableDeclarator' || node['id'].type !== 'Identifier' || node['init'] === null)
      return;
    const name = String(node['id'].name);
    if (found.has(name)) twice.add(name);
    found.set(name, node['init']);
  });
  for (const name of twice) found.delete(name);
  return found;
};

const wrappers = /^(TSAsExpression|TSNonNullExpression|TSSatisfiesExpression|ParenthesizedExpression)$/;
const bare = (node: Node): Node => (wrappers.test(node.type) ? bare(node['expression']) : node);
/** The text of a call such as `.join`, its object and its arguments. */
const methodOf = (node: Node): { name: string; object: Node; args: Node[] } | undefined => {
  if (node.type !== 'CallExpression' || node['callee'].type !== 'MemberExpression') return undefined;
  const property = node['callee'].property as Node;
  const name = String(property['name'] ?? property['value'] ?? '');
  return { name, object: bare(node['callee'].object), args: node['arguments'] };
};
export type Piece = string | Node;
const DEEPEST = 6;

const templatePieces = (node: Node, constants: Constants, depth: number): Piece[] =>
  (node['quasis'] as Node[]).flatMap((quasi, i) => {
    const value = (node['expressions'] as Node[])[i];
    return [
      String(quasi['value'].cooked ?? quasi['value'].raw),
      ...(value ? piecesOf(value, constants, depth) : []),
    ];
  });
const callPieces = (node: Node, constants: Constants, depth: number): Piece[] | undefined => {
  const method = methodOf(node);
  if (method === undefined) return undefined;
  const { name, args } = method;
  const listed = constants.get(String(method.object['name']));
  const object = listed?.type === 'ArrayExpression' ? listed : method.object;
  const inner = (one: Node): Piece[] => piecesOf(one, constants, depth);
  const isList = object.type === 'ArrayExpression';
  if (name === 'join' && isList && args[0] !== undefined) {
    const [between] = [inner(args[0])];
    return (object['elements'] as (Node | null)[]).flatMap((one, i) => [
      ...(i === 0 ? [] : between),
      ...(one === null ? [''] : inner(one)),
    ]);
  }
  if (name === 'concat' && !isList) return [...inner(object), ...args.flatMap(inner)];
  // The value comes behind the text, where the order does not matter.
  if (/^replace(All)?$/.test(name) && inner(object).every((one) => typeof one === 'string') && args[1])
    return [...inner(object), args[1]];
  return undefined;
};
/**
 * Returns the parts of a text: strings that the source contains, and nodes with other values. A sum, a template, `concat`,
 * `join`, `replace` and a helper variable are notations of the same text.
 */
export const piecesOf = (node: Node, constants: Constants, depth = DEEPEST): Piece[] => {
  const one = bare(node);
  if (one.type === 'Literal' && typeof one['value'] === 'string') return [one['value']];
  if (one.type === 'TemplateLiteral') return templatePieces(one, constants, depth);
  if (one.type === 'BinaryExpression' && one['operator'] === '+')
    return [...piecesOf(one['left'], constants, depth), ...piecesOf(one['right'], constants, depth)];
  const value = one.type === 'Identifier' && depth > 0 ? constants.get(one['name']) : undefined;
  if (value !== undefined && isBuilt(bare(value))) return piecesOf(value, constants, depth - 1);
  return callPieces(one, constants, depth) ?? [one];
};
/** True for an expression that puts a text together. */
export const isBuilt = (node: Node): boolean =>
  (node.type === 'Literal' && typeof node['value'] === 'string') ||
  node.type === 'TemplateLiteral' ||
  (node.type === 'BinaryExpression' && node['operator'] === '+') ||
  /^(join|concat|replace|replaceAll)$/.test(methodOf(node)?.name ?? '');
