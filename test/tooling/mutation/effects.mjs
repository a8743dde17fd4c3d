// Mistakes in the order, the time and the target of effects: two awaited statements swapped, an `await` dropped, a read
// moved out of its loop, a signal lost, a unit wrong by a factor of 1000, two members swapped, an error swallowed. The
// types accept most of them.
import { parseAst } from 'rolldown/parseAst';

const LOOPS = new Set(['ForStatement', 'ForOfStatement', 'WhileStatement', 'DoWhileStatement']);
const isFunction = ({ type }) => /Function/.test(type);
const partsOf = (node) =>
  Object.values(node).flatMap((part) =>
    (Array.isArray(part) ? part : [part]).filter((one) => typeof one?.type === 'string'),
  );
/** Returns whether the statement itself awaits, excluding functions inside it. */
const waits = (node) =>
  node.type === 'AwaitExpression' || partsOf(node).some((part) => !isFunction(part) && waits(part));
const isCall = ({ type, expression }) =>
  type === 'ExpressionStatement' && /^(?:Await|Call)Expression$/.test(expression.type);
/** Returns whether a value is a plain name. Two such adjacent values can replace each other. */
const isPlain = ({ type, computed }) => type === 'Identifier' || (type === 'MemberExpression' && !computed);
const nameOf = ({ name, value }) => name ?? value;
/** `Math.max` and `Math.min` return the same value for every order of their arguments. */
const isCommutative = ({ object, property }) =>
  object?.name === 'Math' && /^(?:max|min)$/.test(property?.name);
const DURATION = /(?:^|_|[a-z])(?:ms|seconds)$/i;

/** `catch { return undefined; }` at the end of a function returns the same value without its statement. */
const returnsNothing = ({ body }) => {
  const [only, ...others] = body.body;
  const isUndefined = only?.argument === null || only?.argument?.name === 'undefined';
  return only?.type === 'ReturnStatement' && others.length === 0 && isUndefined;
};
/** Returns the handler of a `try` that is the last statement of a function. */
const lastHandlerOf = ({ body }) => {
  const last = body?.type === 'BlockStatement' ? body.body.at(-1) : undefined;
  return last?.type === 'TryStatement' ? last.handler : undefined;
};

/** Returns every change of this kind: its position, the replacement text, and the kind of mistake. */
export const effectMutantsOf = (source) => {
  const found = [];
  const lastHandlers = new Set();
  const textOf = ({ start, end }) => source.slice(start, end);
  const add = (kind, start, end, text) => {
    if (source.slice(start, end) !== text) found.push({ kind, start, end, text });
  };
  const swap = (kind, one, other) =>
    add(kind, one.start, other.end, textOf(other) + source.slice(one.end, other.start) + textOf(one));
  const neighbors = (list, act) => {
    for (const [i, other] of list.slice(1).entries()) act(list[i], other);
  };
  const byType = {
    BlockStatement: ({ body }) =>
      neighbors(body, (one, other) => {
        if (isCall(one) && isCall(other) && (waits(one) || waits(other))) swap('order', one, other);
      }),
    ExpressionStatement: ({ expression }) => {
      if (expression.type === 'AwaitExpression')
        add('await', expression.start, expression.end, `void ${textOf(expression.argument)}`);
    },
    ObjectExpression: ({ properties }) => {
      for (const property of properties)
        if (property.type === 'Property' && nameOf(property.key) === 'signal')
          add('signal', property.start, property.end, 'signal: undefined');
      neighbors(properties, (one, other) => {
        if ([one, other].some(({ type, shorthand }) => type !== 'Property' || shorthand)) return;
        if (isPlain(one.value) && isPlain(other.value)) swap('member', one.value, other.value);
      });
    },
    CallExpression: ({ arguments: given, callee }) => {
      for (const one of given)
        if (one.type === 'Identifier' && one.name === 'signal')
          add('signal', one.start, one.end, 'undefined');
      neighbors(given, (one, other) => {
        if (isPlain(one) && isPlain(other) && !isCommutative(callee)) swap('member', one, other);
      });
      const method = callee.property;
      if (method?.name === 'some') add('quantifier', method.start, method.end, 'every');
      if (method?.name === 'every') add('quantifier', method.start, method.end, 'some');
    },
    BinaryExpression: ({ operator, left, right, start, end }) => {
      if ((operator === '*' || operator === '/') && right.value === 1000)
        add('unit', start, end, textOf(left));
    },
    Property: ({ key, value }) => {
      if (DURATION.test(nameOf(key) ?? '') && typeof value.value === 'number' && value.value >= 1000)
        add('unit', value.start, value.end, String(value.value / 1000));
    },
    VariableDeclarator: ({ id, init }) => {
      if (DURATION.test(id.name ?? '') && typeof init?.value === 'number' && init.value >= 1000)
        add('unit', init.start, init.end, String(init.value / 1000));
    },
    CatchClause: (handler) => {
      const { body } = handler;
      if (body.body.length === 0 || (lastHandlers.has(handler) && returnsNothing(handler))) return;
      add('error', body.start, body.end, '{}');
    },
    LogicalExpression: ({ operator, left, right, start, end }) => {
      if (operator === '??') add('fallback', start, end, `(${textOf(right)} ?? ${textOf(left)})`);
    },
    MemberExpression: ({ object, property, start, end }) => {
      // The observations of a plan are outdated as soon as the run observes again.
      if (property.name === 'plan' && object.name === 'run') return;
      if (property.name === 'observation' && object.type === 'Identifier' && object.name !== 'plan')
        add('stale', start, end, 'plan.observation');
    },
  };
  const hoist = (loop) => {
    // The body of a loop without braces may be another loop.
    const [first] = loop.body.type === 'BlockStatement' ? loop.body.body : [];
    if (first?.type !== 'VariableDeclaration' || !waits(first)) return;
    const text = `${textOf(first)} ${source.slice(loop.start, first.start)}${source.slice(first.end, loop.end)}`;
    add('stale', loop.start, loop.end, text);
  };
  const visit = (node) => {
    if (/^(?:Import|TS(?!AsExpression|NonNull|Satisfies))/.test(node.type)) return;
    if (isFunction(node)) lastHandlers.add(lastHandlerOf(node));
    byType[node.type]?.(node);
    if (LOOPS.has(node.type)) hoist(node);
    for (const part of partsOf(node)) visit(part);
  };
  visit(parseAst(source, { lang: 'ts' }));
  return found;
};
