// @ts-check
// Finds the possible changes to a source text. Types, imports and strings remain unchanged.
import { parseAst } from 'rolldown/parseAst';
import { isNode } from '../syntax.mjs';

/** @typedef {import('../syntax.mjs').Node} Node */
/**
 * @template {Node['type']} Type
 * @typedef {import('../syntax.mjs').NodeOf<Type>} NodeOf
 */
/** @typedef {NodeOf<'BinaryExpression' | 'LogicalExpression'>} Operation */

/** @type {Readonly<Record<string, string>>} */
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
/** @type {Readonly<Record<string, string>>} */
const BOUNDARIES = { '<': '<=', '<=': '<', '>': '>=', '>=': '>' };

/** @param {Node} node */
const literalOf = (node) => (node.type === 'Literal' ? node.value : undefined);
/** @param {Node} node @returns {boolean} */
const isSize = (node) =>
  node.type === 'BinaryExpression' &&
  node.operator === '*' &&
  [node.left, node.right].some((one) => literalOf(one) === 1024 || isSize(one));
/**
 * Numbers that the mutations exclude: durations, sizes and excerpt lengths. Only tests that depend on the speed of the
 * machine could detect a duration that is one millisecond longer. Tests import sizes in multiples of 1024 by name, so
 * they cannot detect one additional MiB.
 * @param {Node} node @param {string} source
 */
const isTimed = (node, source) =>
  node.type === 'BinaryExpression' &&
  /[<>]/.test(node.operator) &&
  /elapsed\(\)|now\(\)|Ms\b|until\b/i.test(source.slice(node.start, node.end));
/** @param {string} name */
const isDuration = (name) => /(?:^|_|[a-z])(?:ms|seconds)$/i.test(name);
const EXCERPT = 20;

/** @param {Node} node */
const textOfName = (node) =>
  node.type === 'Identifier' || node.type === 'PrivateIdentifier' ? node.name : String(literalOf(node) ?? '');
/** @param {Node} node */
const nameOf = (node) => {
  if (node.type === 'VariableDeclarator') return textOfName(node.id);
  if (node.type === 'Property' || node.type === 'PropertyDefinition') return textOfName(node.key);
  return node.type === 'AssignmentPattern' ? textOfName(node.left) : '';
};
/** @param {Node} node @param {string} source */
const isExcerpt = (node, source) =>
  node.type === 'CallExpression' &&
  node.callee.type === 'MemberExpression' &&
  /^(?:slice|toFixed|padStart|padEnd)$/.test(
    source.slice(node.callee.property.start, node.callee.property.end),
  ) &&
  node.arguments.some((one) => {
    const value = literalOf(one);
    return typeof value === 'number' && Math.abs(value) >= EXCERPT;
  });

const SENTENCES = /^(?:text|message|hint|reason|summary|about)$/;
const WORDING = /^(?:tryThis|warn|log)$/;
/** @param {Node} node */
const isText = (node) =>
  typeof literalOf(node) === 'string' || (node.type === 'TemplateLiteral' && node.quasis.length > 0);
/** @param {Node} node */
const calleeOf = (node) => {
  if (node.type !== 'CallExpression' && node.type !== 'NewExpression') return '';
  const { callee } = node;
  return textOfName(callee.type === 'MemberExpression' ? callee.property : callee);
};
/**
 * Without the call, only the speed changes.
 * @param {Node} call
 */
const isPause = (call) => calleeOf(call) === 'sleep';
/**
 * Matches the ending of a word, or several words.
 * @param {Node} node @param {string} source
 */
const isSpoken = (node, source) =>
  isText(node) && /^'(?:s|es|ies)'$|\s/.test(source.slice(node.start, node.end));
/**
 * Matches sentences for people: the plural of a word, or an optional reason. Tests compare the important sentences
 * exactly; changes to the other sentences do not change behavior.
 * @param {Node} node @param {string} source
 */
const isWording = (node, source) => {
  if (node.type === 'CallExpression') return WORDING.test(calleeOf(node));
  if (node.type === 'Property')
    return WORDING.test(nameOf(node)) || (SENTENCES.test(nameOf(node)) && isText(node.value));
  if (node.type !== 'ConditionalExpression') return false;
  const ways = [node.consequent, node.alternate];
  return ways.every(isText) && ways.some((one) => isSpoken(one, source));
};
/** @param {Node} node */
const isWait = (node) =>
  node.type === 'CallExpression' && /^(?:sleep|setTimeout|setInterval|timeout)$/.test(calleeOf(node));
/**
 * The class and code of an error are behavior, and its second argument is the sentence.
 * @param {Node} node
 */
const withoutSentence = (node) =>
  node.type === 'NewExpression' && /Error$/.test(calleeOf(node))
    ? { ...node, arguments: node.arguments.filter((_, i) => i !== (calleeOf(node) === 'AppError' ? 1 : 0)) }
    : node;

/**
 * Returns every possible change to a text: its position and the replacement text.
 * @type {typeof import('./mutants.mjs').mutantsOf}
 */
export const mutantsOf = (source) => {
  /** @type {Map<string, import('../syntax.mjs').Change>} */
  const found = new Map();
  /** @param {number} start @param {number} end @param {string} text */
  const add = (start, end, text) => {
    const whole = source.slice(0, start) + text + source.slice(end);
    found.set(`${start} ${end} ${text} ${whole.length}`, { start, end, text });
  };
  /** @param {Operation} node */
  const between = (node) => {
    const { left, right, operator } = node;
    const at = source.indexOf(operator, left.end);
    if (at < 0 || at >= right.start) return;
    const [other, boundary] = [OPERATORS[operator], BOUNDARIES[operator]];
    if (other !== undefined) add(at, at + operator.length, other);
    if (boundary !== undefined && !isTimed(node, source)) add(at, at + operator.length, boundary);
  };
  /** @param {NodeOf<'LogicalExpression'>} node */
  const inLogic = (node) => {
    const [left, right] = [node.left, node.right].map(({ start, end }) => source.slice(start, end));
    // Next to another `??`, the grammar requires parentheses.
    if (node.operator === '??') add(node.start, node.end, `((${left}) && (${right}))`);
    else between(node);
  };
  /** @param {Node} test */
  const negate = (test) => {
    // The flipped operator of the same comparison is the same change.
    const isComparison = test.type === 'BinaryExpression' && /[=<>]/.test(test.operator);
    if (!isComparison) add(test.start, test.end, `!(${source.slice(test.start, test.end)})`);
  };
  /** @param {NodeOf<'ExpressionStatement'>} statement */
  const inStatement = ({ expression, start, end }) => {
    const call = expression.type === 'AwaitExpression' ? expression.argument : expression;
    if (call.type === 'CallExpression' && !isWording(call, source) && !isPause(call)) add(start, end, ';');
  };
  /** @param {NodeOf<'Literal'>} literal @param {boolean} isUnseen */
  const inLiteral = ({ value, start, end }, isUnseen) => {
    if (typeof value === 'boolean') add(start, end, String(!value));
    if (typeof value === 'number' && !isUnseen && value !== 1024) add(start, end, String(value + 1));
  };
  /** @param {Node} node @param {boolean} isUnseen */
  const change = (node, isUnseen) => {
    switch (node.type) {
      case 'BinaryExpression':
        return between(node);
      case 'LogicalExpression':
        return inLogic(node);
      case 'UnaryExpression':
        if (node.operator === '!')
          add(node.start, node.end, source.slice(node.argument.start, node.argument.end));
        return;
      case 'ConditionalExpression':
      case 'IfStatement':
        return negate(node.test);
      case 'ExpressionStatement':
        return inStatement(node);
      case 'Literal':
        return inLiteral(node, isUnseen);
      default:
    }
  };
  /** @param {unknown} node @param {boolean} isUnseen */
  const visit = (node, isUnseen) => {
    if (Array.isArray(node)) for (const one of node) visit(one, isUnseen);
    if (!isNode(node) || /^(Import|TS(?!AsExpression|NonNull|Satisfies))/.test(node.type)) return;
    if (isWording(node, source)) return;
    change(node, isUnseen);
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

/**
 * Returns a generator of numbers in [0, 1). The same seed produces the same mutants (mulberry32).
 * @param {number} seed
 */
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
