// @ts-check
// Mistakes in the order, the time and the target of effects: two awaited statements swapped, an `await` dropped, a read
// moved out of its loop, a signal lost, a unit wrong by a factor of 1000, two members swapped, an error swallowed. The
// types accept most of them.
import { parseAst } from 'rolldown/parseAst';
import { isNode, partsOf } from '../syntax.mjs';

/** @typedef {import('../syntax.mjs').Node} Node */
/**
 * @template {Node['type']} Type
 * @typedef {import('../syntax.mjs').NodeOf<Type>} NodeOf
 */
/** @typedef {NodeOf<'ForStatement' | 'ForOfStatement' | 'WhileStatement' | 'DoWhileStatement'>} Loop */

/** @param {Pick<Node, 'type'>} node */
const isFunction = ({ type }) => /Function/.test(type);
/**
 * Returns whether the statement itself awaits, excluding functions inside it.
 * @param {Node} node
 * @returns {boolean}
 */
const waits = (node) =>
  node.type === 'AwaitExpression' || partsOf(node).some((part) => !isFunction(part) && waits(part));
/** @param {Node} node */
const isCall = (node) =>
  node.type === 'ExpressionStatement' && /^(?:Await|Call)Expression$/.test(node.expression.type);
/**
 * Returns whether a value is a plain name. Two such adjacent values can replace each other.
 * @param {Node} node
 */
const isPlain = (node) => node.type === 'Identifier' || (node.type === 'MemberExpression' && !node.computed);
/**
 * Returns the name of an identifier, and the value of a literal.
 * @param {Node | null} node
 */
const nameOf = (node) =>
  node?.type === 'Identifier' || node?.type === 'PrivateIdentifier'
    ? node.name
    : node?.type === 'Literal'
      ? node.value
      : undefined;
/**
 * `Math.max` and `Math.min` return the same value for every order of their arguments.
 * @param {Node} callee
 */
const isCommutative = (callee) =>
  callee.type === 'MemberExpression' &&
  nameOf(callee.object) === 'Math' &&
  /^(?:max|min)$/.test(String(nameOf(callee.property)));
/**
 * Returns the number of a literal that is a duration of at least a second.
 * @param {Node} name @param {Node | null} value
 */
const durationOf = (name, value) => {
  const [text, number] = [nameOf(name), value?.type === 'Literal' ? value.value : undefined];
  const isDuration = /(?:^|_|[a-z])(?:ms|seconds)$/i.test(String(text ?? ''));
  return isDuration && typeof number === 'number' && number >= 1000 ? number : undefined;
};

/**
 * `catch { return undefined; }` at the end of a function returns the same value without its statement.
 * @param {NodeOf<'CatchClause'>} handler
 */
const returnsNothing = ({ body }) => {
  const [only, ...others] = body.body;
  if (only?.type !== 'ReturnStatement' || others.length > 0) return false;
  return only.argument === null || nameOf(only.argument) === 'undefined';
};
/**
 * Returns the handler of a `try` that is the last statement of a function.
 * @param {Node} node
 */
const lastHandlerOf = (node) => {
  const body = 'body' in node && isNode(node.body) ? node.body : undefined;
  const last = body?.type === 'BlockStatement' ? body.body.at(-1) : undefined;
  return last?.type === 'TryStatement' ? last.handler : undefined;
};

/**
 * Calls `act` for each two neighbors.
 * @template Item
 * @param {readonly Item[]} list @param {(one: Item, other: Item) => void} act
 */
const neighbors = (list, act) => {
  for (const [i, one] of list.slice(0, -1).entries()) {
    const other = list[i + 1];
    if (other !== undefined) act(one, other);
  }
};

/**
 * Returns every change of this kind: its position, the replacement text, and the kind of mistake.
 * @type {typeof import('./effects.mjs').effectMutantsOf}
 */
export const effectMutantsOf = (source) => {
  /** @type {import('./effects.mjs').EffectMutant[]} */
  const found = [];
  /** @type {Set<Node | null | undefined>} */
  const lastHandlers = new Set();
  /** @param {{ readonly start: number, readonly end: number }} node */
  const textOf = ({ start, end }) => source.slice(start, end);
  /** @param {string} kind @param {number} start @param {number} end @param {string} text */
  const add = (kind, start, end, text) => {
    if (source.slice(start, end) !== text) found.push({ kind, start, end, text });
  };
  /** @param {string} kind @param {Node} one @param {Node} other */
  const swap = (kind, one, other) =>
    add(kind, one.start, other.end, textOf(other) + source.slice(one.end, other.start) + textOf(one));

  /** @param {readonly Node[]} statements */
  const inBlock = (statements) =>
    neighbors(statements, (one, other) => {
      if (isCall(one) && isCall(other) && (waits(one) || waits(other))) swap('order', one, other);
    });
  /** @param {NodeOf<'ExpressionStatement'>} statement */
  const inStatement = ({ expression }) => {
    if (expression.type === 'AwaitExpression')
      add('await', expression.start, expression.end, `void ${textOf(expression.argument)}`);
  };
  /** @param {NodeOf<'ObjectExpression'>} object */
  const inObject = ({ properties }) => {
    for (const property of properties)
      if (property.type === 'Property' && nameOf(property.key) === 'signal')
        add('signal', property.start, property.end, 'signal: undefined');
    neighbors(properties, (one, other) => {
      if (one.type !== 'Property' || other.type !== 'Property' || one.shorthand || other.shorthand) return;
      if (isPlain(one.value) && isPlain(other.value)) swap('member', one.value, other.value);
    });
  };
  /** @param {NodeOf<'CallExpression'>} call */
  const inCall = ({ arguments: given, callee }) => {
    for (const one of given)
      if (one.type === 'Identifier' && one.name === 'signal') add('signal', one.start, one.end, 'undefined');
    neighbors(given, (one, other) => {
      if (isPlain(one) && isPlain(other) && !isCommutative(callee)) swap('member', one, other);
    });
    if (callee.type !== 'MemberExpression') return;
    const { property: method } = callee;
    if (nameOf(method) === 'some') add('quantifier', method.start, method.end, 'every');
    if (nameOf(method) === 'every') add('quantifier', method.start, method.end, 'some');
  };
  /** @param {Node} name @param {Node | null} value */
  const inDuration = (name, value) => {
    const duration = durationOf(name, value);
    if (value !== null && duration !== undefined)
      add('unit', value.start, value.end, String(duration / 1000));
  };
  /** @param {NodeOf<'CatchClause'>} handler */
  const inHandler = (handler) => {
    const { body } = handler;
    if (body.body.length === 0 || (lastHandlers.has(handler) && returnsNothing(handler))) return;
    add('error', body.start, body.end, '{}');
  };
  /** @param {NodeOf<'MemberExpression'>} member */
  const inMember = ({ object, property, start, end }) => {
    // The observations of a plan are outdated as soon as the run observes again.
    if (nameOf(property) === 'plan' && nameOf(object) === 'run') return;
    if (nameOf(property) === 'observation' && object.type === 'Identifier' && object.name !== 'plan')
      add('stale', start, end, 'plan.observation');
  };
  /** @param {Loop} loop */
  const inLoop = (loop) => {
    // The body of a loop without braces may be another loop.
    const [first] = loop.body.type === 'BlockStatement' ? loop.body.body : [];
    if (first?.type !== 'VariableDeclaration' || !waits(first)) return;
    const text = `${textOf(first)} ${source.slice(loop.start, first.start)}${source.slice(first.end, loop.end)}`;
    add('stale', loop.start, loop.end, text);
  };
  /** @param {Node} node */
  const change = (node) => {
    switch (node.type) {
      case 'BlockStatement':
        return inBlock(node.body);
      case 'ExpressionStatement':
        return inStatement(node);
      case 'ObjectExpression':
        return inObject(node);
      case 'CallExpression':
        return inCall(node);
      case 'BinaryExpression':
        if ((node.operator === '*' || node.operator === '/') && nameOf(node.right) === 1000)
          add('unit', node.start, node.end, textOf(node.left));
        return;
      case 'Property':
        return inDuration(node.key, node.value);
      case 'VariableDeclarator':
        return inDuration(node.id, node.init);
      case 'CatchClause':
        return inHandler(node);
      case 'LogicalExpression':
        if (node.operator === '??')
          add('fallback', node.start, node.end, `(${textOf(node.right)} ?? ${textOf(node.left)})`);
        return;
      case 'MemberExpression':
        return inMember(node);
      case 'ForStatement':
      case 'ForOfStatement':
      case 'WhileStatement':
      case 'DoWhileStatement':
        return inLoop(node);
      default:
    }
  };
  /** @param {Node} node */
  const visit = (node) => {
    if (/^(?:Import|TS(?!AsExpression|NonNull|Satisfies))/.test(node.type)) return;
    if (isFunction(node)) lastHandlers.add(lastHandlerOf(node));
    change(node);
    for (const part of partsOf(node)) visit(part);
  };
  visit(parseAst(source, { lang: 'ts' }));
  return found;
};
