// Places of a source text that a run can reach, and the text with a mark in each of them.
import { parseAst } from 'rolldown/parseAst';

const isArrowValue = ({ type, expression }) => type === 'ArrowFunctionExpression' && expression;
/** What stands there is a value, so its mark must be one too. */
const valuesOf = (node) =>
  node.type === 'ConditionalExpression'
    ? [node.consequent, node.alternate]
    : isArrowValue(node)
      ? [node.body]
      : [];

/** Blocks, cases, and what an arrow or a condition stands for; an outer place comes before those in it. */
export const placesOf = (source) => {
  const found = [];
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

/** `markOf`: the expression that marks the place of this index. */
export const marked = (source, markOf) => {
  const inserts = placesOf(source).flatMap(({ at, end, isValue }, i) =>
    isValue
      ? [
          { at, text: `(${markOf(i)}, ` },
          { at: end, text: ')' },
        ]
      : [{ at, text: `${markOf(i)};` }],
  );
  // From the end; of two marks at one place the inner one first.
  const ordered = inserts.map((one, order) => ({ ...one, order }));
  ordered.sort((a, b) => b.at - a.at || b.order - a.order);
  let text = source;
  for (const one of ordered) text = text.slice(0, one.at) + one.text + text.slice(one.at);
  return text;
};
