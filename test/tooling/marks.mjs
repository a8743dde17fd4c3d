// @ts-check
// Finds the positions of a source text that a run can reach, and inserts a mark at each position.
import { parseAst } from 'rolldown/parseAst';

/**
 * A node of the syntax tree. Its members depend on its type.
 * @typedef {Record<string, any> & { readonly type: string }} Node
 */
/** @param {Node} node */
const isArrowValue = ({ type, expression }) => type === 'ArrowFunctionExpression' && expression;
/**
 * Returns the child nodes that are values. The mark of a value must also be a value.
 * @param {Node} node
 */
const valuesOf = (node) =>
  node.type === 'ConditionalExpression'
    ? [node.consequent, node.alternate]
    : isArrowValue(node)
      ? [node.body]
      : [];

/**
 * Returns blocks, cases, and the values of arrow functions and conditional expressions. An outer node comes before its inner nodes.
 * @type {typeof import('./marks.mjs').placesOf}
 */
export const placesOf = (source) => {
  /** @type {import('./marks.mjs').Place[]} */
  const found = [];
  /** @param {any} node */
  const visit = (node) => {
    if (Array.isArray(node)) for (const one of node) visit(one);
    if (typeof node?.type !== 'string' || node.type.startsWith('TSType')) return;
    const { start, end } = node;
    if (node.type === 'BlockStatement' || node.type === 'FunctionBody')
      found.push({ start, end, isValue: false, at: start + 1 });
    if (node.type === 'SwitchCase' && node.consequent.length > 0)
      found.push({ start, end, isValue: false, at: node.consequent[0].start });
    for (const value of valuesOf(node))
      found.push({ start: value.start, end: value.end, isValue: true, at: value.start });
    for (const part of Object.values(node)) if (typeof part === 'object' && part !== null) visit(part);
  };
  visit(parseAst(source, { lang: 'ts' }));
  return found;
};

/**
 * Inserts the marks. `markOf` returns the expression that marks the position with the given index.
 * @type {typeof import('./marks.mjs').marked}
 */
export const marked = (source, markOf) => {
  const inserts = placesOf(source).flatMap(({ at, end, isValue }, i) =>
    isValue
      ? [
          { at, text: `(${markOf(i)}, ` },
          { at: end, text: ')' },
        ]
      : [{ at, text: `${markOf(i)};` }],
  );
  // Inserts from the end of the text. If two marks have the same position, the inner mark comes first.
  const ordered = inserts.map((one, order) => ({ ...one, order }));
  ordered.sort((a, b) => b.at - a.at || b.order - a.order);
  let text = source;
  for (const one of ordered) text = text.slice(0, one.at) + one.text + text.slice(one.at);
  return text;
};
