// What `opsctl explain` says about error codes and guards, read from the places in the source that raise them.
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { parseAst } from 'rolldown/parseAst';

const sources = (directory) =>
  readdirSync(directory, { recursive: true })
    .map((name) => join(directory, String(name)))
    .filter((path) => path.endsWith('.ts') && !path.endsWith('.d.ts'))
    .sort();

/** A text of the source as a reader sees it: what is filled in becomes `…`. */
const textOf = (node) => {
  if (node?.type === 'Literal' && typeof node.value === 'string') return node.value;
  if (node?.type === 'TemplateLiteral') return node.quasis.map(({ value }) => value.cooked).join('…');
  if (node?.type === 'ConditionalExpression') return textOf(node.consequent) ?? textOf(node.alternate);
  return undefined;
};
const propertyOf = (object, name) =>
  object?.type === 'ObjectExpression'
    ? object.properties.find(({ key }) => key?.name === name || key?.value === name)?.value
    : undefined;
const textsOf = (node) =>
  node?.type === 'ArrayExpression' ? node.elements.flatMap((one) => textOf(one) ?? []) : [];

const visit = (node, look) => {
  if (node === null || typeof node !== 'object') return;
  if (Array.isArray(node)) {
    for (const one of node) visit(one, look);
    return;
  }
  if (typeof node.type === 'string') look(node);
  for (const [key, value] of Object.entries(node)) if (key !== 'parent') visit(value, look);
};

/** `new AppError('config', 'message', { code, tryThis })`. */
const errorIn = (node) => {
  if (node.type !== 'NewExpression' || node.callee.name !== 'AppError') return undefined;
  const [category, message, detail] = node.arguments;
  const code = textOf(propertyOf(detail, 'code'));
  if (code === undefined || textOf(category) === undefined) return undefined;
  return {
    code,
    category: textOf(category),
    messages: [textOf(message)].filter((text) => text !== undefined && !/^…?$/.test(text)),
    tryThis: textsOf(propertyOf(detail, 'tryThis')),
  };
};

/** The sentence above a declaration, without where it is from. */
const commentBefore = (source, start) => {
  const before = source
    .slice(0, start)
    .replace(/(export )?const \w+ =\s*$/, '')
    .trimEnd();
  const found = /\/\*\*((?:(?!\*\/)[\s\S])*)\*\/$/.exec(before)?.[1];
  return found
    ?.replaceAll(/\s*\n\s*\*\s?/g, ' ')
    .replace(/^\s*(?:spec\/\S+|[a-z]+ facts? \S+|facts \S+ \S+)(?:, [^:]*)?:? (?=\w)/, '')
    .trim();
};

/** `guard('name', 'what is good', (input, log) => …)`. */
const guardIn = (node, source) => {
  if (node.type !== 'CallExpression' || node.callee.name !== 'guard') return undefined;
  const [id, good, look] = node.arguments;
  if (textOf(id) === undefined || textOf(good) === undefined) return undefined;
  const findings = [];
  visit(look, (call) => {
    const level = call.type === 'CallExpression' ? call.callee.property?.name : undefined;
    if (level !== 'fail' && level !== 'warn') return;
    const message = textOf(propertyOf(call.arguments[0], 'message'));
    const hint = textOf(propertyOf(call.arguments[0], 'hint'));
    if (message !== undefined) findings.push({ level, message, ...(hint === undefined ? {} : { hint }) });
  });
  return { id: textOf(id), good: textOf(good), about: commentBefore(source, node.start) ?? '', findings };
};

const merged = (before, { category, messages, tryThis }) => ({
  category,
  messages: [...new Set([...(before?.messages ?? []), ...messages])],
  tryThis: [...new Set([...(before?.tryThis ?? []), ...tryThis])],
});

export const explanations = (root) => {
  const errors = {};
  const guards = {};
  for (const path of sources(`${root}src`)) {
    const source = readFileSync(path, 'utf8');
    if (!/new AppError\(|= guard\(/.test(source)) continue;
    visit(parseAst(source, { lang: 'ts' }), (node) => {
      const error = errorIn(node);
      if (error !== undefined) errors[error.code] = merged(errors[error.code], error);
      const guard = guardIn(node, source);
      if (guard !== undefined) guards[guard.id] = guard;
    });
  }
  return { errors, guards };
};
