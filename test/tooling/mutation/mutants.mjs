// The changes that can be made to a source text. Types, imports and texts are left alone.
import { parseAst } from 'rolldown/parseAst';

const OPERATORS = {
  '===': '!==',
  '!==': '===',
  '<': '>=',
  '<=': '>',
  '>': '<=',
  '>=': '<',
  '+': '-',
  '-': '+',
  '&&': '||',
  '||': '&&',
  '??': '&&',
};

/**
 * Numbers whose neighbor no test can tell apart that does not depend on the speed of the machine: durations (one millisecond
 * more), and sizes in multiples of 1024, which tests take by their name; and how much of a text an excerpt shows.
 */
const isTimed = (node, source) =>
  node.type === 'BinaryExpression' &&
  /[<>]/.test(node.operator) &&
  /elapsed\(\)|now\(\)/.test(source.slice(node.start, node.end));
const isDuration = (name) => /(?:^|_|[a-z])(?:ms|seconds)$/i.test(name);
const EXCERPT = 20;

const nameOf = ({ type, id, key, left }) =>
  type === 'VariableDeclarator'
    ? (id.name ?? '')
    : type === 'Property' || type === 'PropertyDefinition'
      ? (key.name ?? key.value ?? '')
      : type === 'AssignmentPattern'
        ? (left.name ?? '')
        : '';
const isExcerpt = (node, source) =>
  node.type === 'CallExpression' &&
  /^(?:slice|toFixed|padStart|padEnd)$/.test(
    source.slice(node.callee.property?.start, node.callee.property?.end),
  ) &&
  node.arguments.some(({ value }) => typeof value === 'number' && Math.abs(value) >= EXCERPT);

/** Every change that can be made to a text: where, and what stands there afterwards. */
export const mutantsOf = (source) => {
  const found = new Map();
  const add = (start, end, text) => {
    const whole = source.slice(0, start) + text + source.slice(end);
    found.set(`${start} ${end} ${whole.length}`, { start, end, text });
  };
  const between = ({ left, right, operator }) => {
    const at = source.indexOf(operator, left.end);
    if (OPERATORS[operator] !== undefined && at >= 0 && at < right.start)
      add(at, at + operator.length, OPERATORS[operator]);
  };
  const negated = ({ test }) => {
    // The flipped operator of the same comparison is the same change.
    const isComparison = test.type === 'BinaryExpression' && /[=<>]/.test(test.operator);
    if (!isComparison) add(test.start, test.end, `!(${source.slice(test.start, test.end)})`);
  };
  const byType = {
    BinaryExpression: between,
    LogicalExpression: between,
    UnaryExpression: ({ operator, argument, start, end }) =>
      operator === '!' && add(start, end, source.slice(argument.start, argument.end)),
    ConditionalExpression: negated,
    IfStatement: negated,
    Literal: ({ value, start, end }, isUnseen) => {
      if (typeof value === 'boolean') add(start, end, String(!value));
      if (typeof value === 'number' && !isUnseen && value !== 1024) add(start, end, String(value + 1));
    },
  };
  const visit = (node, isUnseen) => {
    if (Array.isArray(node)) for (const one of node) visit(one, isUnseen);
    if (typeof node?.type !== 'string' || /^(Import|TS(?!AsExpression|NonNull|Satisfies))/.test(node.type))
      return;
    byType[node.type]?.(node, isUnseen);
    const name = nameOf(node);
    const below =
      name === '' ? isUnseen || isTimed(node, source) || isExcerpt(node, source) : isDuration(name);
    for (const part of Object.values(node)) if (typeof part === 'object') visit(part, below);
  };
  visit(parseAst(source, { lang: 'ts' }), false);
  return [...found.values()];
};

/** A small generator of numbers from 0 to 1: the same seed makes the same mutants (mulberry32). */
export const generator = (seed) => {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
};
