// Finds the possible changes to a source text. Types, imports and strings remain unchanged.
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
};
const BOUNDARIES = { '<': '<=', '<=': '<', '>': '>=', '>=': '>' };

const isSize = ({ type, operator, left, right }) =>
  type === 'BinaryExpression' &&
  operator === '*' &&
  [left, right].some((one) => one.value === 1024 || isSize(one));
/**
 * Numbers that the mutations exclude: durations, sizes and excerpt lengths. Only tests that depend on the speed of the
 * machine could detect a duration that is one millisecond longer. Tests import sizes in multiples of 1024 by name, so
 * they cannot detect one additional MiB.
 */
const isTimed = (node, source) =>
  node.type === 'BinaryExpression' &&
  /[<>]/.test(node.operator) &&
  /elapsed\(\)|now\(\)|Ms\b|until\b/i.test(source.slice(node.start, node.end));
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

const SENTENCES = /^(?:text|message|hint|reason|summary|about)$/;
const WORDING = /^(?:tryThis|warn|log)$/;
const isText = ({ type, value, quasis }) =>
  (type === 'Literal' && typeof value === 'string') || (type === 'TemplateLiteral' && quasis.length > 0);
const calleeOf = ({ callee }) => callee?.name ?? callee?.property?.name ?? '';
/** Without the call, only the speed changes. */
const isPause = (call) => calleeOf(call) === 'sleep';
/** Matches the ending of a word, or several words. */
const isSpoken = (node, source) =>
  isText(node) && /^'(?:s|es|ies)'$|\s/.test(source.slice(node.start, node.end));
/**
 * Matches sentences for people: the plural of a word, or an optional reason. Tests compare the important sentences
 * exactly; changes to the other sentences do not change behavior.
 */
const isWording = (node, source) => {
  const isEither =
    node.type === 'ConditionalExpression' &&
    [node.consequent, node.alternate].every(isText) &&
    [node.consequent, node.alternate].some((one) => isSpoken(one, source));
  if (node.type === 'CallExpression') return WORDING.test(calleeOf(node));
  if (node.type !== 'Property') return isEither;
  return WORDING.test(nameOf(node)) || (SENTENCES.test(nameOf(node)) && isText(node.value));
};
const isWait = (node) =>
  node.type === 'CallExpression' && /^(?:sleep|setTimeout|setInterval|timeout)$/.test(calleeOf(node));
/** The class and code of an error are behavior, and its second argument is the sentence. */
const withoutSentence = (node) =>
  node.type === 'NewExpression' && /Error$/.test(calleeOf(node))
    ? { ...node, arguments: node.arguments.filter((_, i) => i !== (calleeOf(node) === 'AppError' ? 1 : 0)) }
    : node;

/** Returns every possible change to a text: its position and the replacement text. */
export const mutantsOf = (source) => {
  const found = new Map();
  const add = (start, end, text) => {
    const whole = source.slice(0, start) + text + source.slice(end);
    found.set(`${start} ${end} ${text} ${whole.length}`, { start, end, text });
  };
  const between = (node) => {
    const { left, right, operator } = node;
    const at = source.indexOf(operator, left.end);
    if (at < 0 || at >= right.start) return;
    if (OPERATORS[operator] !== undefined) add(at, at + operator.length, OPERATORS[operator]);
    if (BOUNDARIES[operator] !== undefined && !isTimed(node, source))
      add(at, at + operator.length, BOUNDARIES[operator]);
  };
  const negated = ({ test }) => {
    // The flipped operator of the same comparison is the same change.
    const isComparison = test.type === 'BinaryExpression' && /[=<>]/.test(test.operator);
    if (!isComparison) add(test.start, test.end, `!(${source.slice(test.start, test.end)})`);
  };
  const byType = {
    BinaryExpression: between,
    LogicalExpression: (node) => {
      const [left, right] = [node.left, node.right].map(({ start, end }) => source.slice(start, end));
      // Next to another `??`, the grammar requires parentheses.
      if (node.operator === '??') add(node.start, node.end, `((${left}) && (${right}))`);
      else between(node);
    },
    UnaryExpression: ({ operator, argument, start, end }) =>
      operator === '!' && add(start, end, source.slice(argument.start, argument.end)),
    ConditionalExpression: negated,
    IfStatement: negated,
    ExpressionStatement: ({ expression, start, end }) => {
      const call = expression.type === 'AwaitExpression' ? expression.argument : expression;
      if (call.type === 'CallExpression' && !isWording(call, source) && !isPause(call)) add(start, end, ';');
    },
    Literal: ({ value, start, end }, isUnseen) => {
      if (typeof value === 'boolean') add(start, end, String(!value));
      if (typeof value === 'number' && !isUnseen && value !== 1024) add(start, end, String(value + 1));
    },
  };
  const visit = (node, isUnseen) => {
    if (Array.isArray(node)) for (const one of node) visit(one, isUnseen);
    if (typeof node?.type !== 'string' || /^(Import|TS(?!AsExpression|NonNull|Satisfies))/.test(node.type))
      return;
    if (isWording(node, source)) return;
    byType[node.type]?.(node, isUnseen);
    const name = nameOf(node);
    const below =
      name === ''
        ? isUnseen || isTimed(node, source) || isSize(node) || isExcerpt(node, source) || isWait(node)
        : isDuration(name);
    for (const part of Object.values(withoutSentence(node))) if (typeof part === 'object') visit(part, below);
  };
  visit(parseAst(source, { lang: 'ts' }), false);
  return [...found.values()];
};

/** Returns a generator of numbers in [0, 1). The same seed produces the same mutants (mulberry32). */
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
