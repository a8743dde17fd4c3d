// @ts-check
// Finds the positions of a source text that a run can reach, and inserts a mark at each position.
import { parseAst } from 'rolldown/parseAst';
import { partsOf } from './syntax.mjs';

/**
 * Returns the child nodes that are values. The mark of a value must also be a value.
 * @param {import('./syntax.mjs').Node} node
 */
const valuesOf = (node) => {
  if (node.type === 'ConditionalExpression') return [node.consequent, node.alternate];
  return node.type === 'ArrowFunctionExpression' && node.expression ? [node.body] : [];
};

/**
 * Returns blocks, cases, and the values of arrow functions and conditional expressions. An outer node comes before its inner nodes.
 * @type {typeof import('./marks.mjs').placesOf}
 */
export const placesOf = (source) => {
  /** @type {import('./marks.mjs').Place[]} */
  const found = [];
  /** @param {import('./syntax.mjs').Node} node */
  const visit = (node) => {
    if (node.type.startsWith('TSType')) return;
    const { start, end } = node;
    if (node.type === 'BlockStatement') found.push({ start, end, isValue: false, at: start + 1 });
    const [first] = node.type === 'SwitchCase' ? node.consequent : [];
    if (first !== undefined) found.push({ start, end, isValue: false, at: first.start });
    for (const value of valuesOf(node))
      found.push({ start: value.start, end: value.end, isValue: true, at: value.start });
    for (const part of partsOf(node)) visit(part);
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
