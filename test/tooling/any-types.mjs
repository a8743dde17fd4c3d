// @ts-check
// Lists the expressions of src that have the type `any`: node test/tooling/any-types.mjs
import { fileURLToPath } from 'node:url';
import * as ast from 'typescript/unstable/ast';
import { API } from 'typescript/unstable/sync';

const root = fileURLToPath(new URL('../../', import.meta.url));
const ANY = 1;

/** @param {ast.Node} parent @param {ast.Node} node */
const isNameIn = (parent, node) =>
  ('name' in parent && parent.name === node) || ('propertyName' in parent && parent.propertyName === node);
/**
 * A name that is declared or addressed is not an expression of its own, and the text of an import has no value.
 * @param {ast.Node} node
 */
const isCounted = (node) => {
  const { parent } = node;
  if (!ast.isExpression(node) || isNameIn(parent, node)) return false;
  if (node.kind === ast.SyntaxKind.ImportKeyword || ast.isSpreadElement(node)) return false;
  if (ast.isYieldExpression(node)) return !ast.isExpressionStatement(parent);
  return !(ast.isStringLiteral(node) && (ast.isImportDeclaration(parent) || ast.isExportDeclaration(parent)));
};
/** @param {ast.SourceFile} file */
const expressionsOf = (file) => {
  /** @type {ast.Node[]} */
  const found = [];
  /** @param {ast.Node} node */
  const visit = (node) => {
    if (ast.isTypeNode(node)) return;
    if (isCounted(node)) found.push(node);
    node.forEachChild(visit);
  };
  file.forEachChild(visit);
  return found;
};
/**
 * The types of the nodes. The compiler's interface of version 7.0 cannot describe some tuple types and fails for
 * the whole list, so that a list is cut in half until only such nodes, which are not `any`, have no answer.
 * @param {import('typescript/unstable/sync').Checker} checker
 * @param {readonly ast.Node[]} nodes
 * @returns {readonly (import('typescript/unstable/sync').Type | undefined)[]}
 */
const typesOf = (checker, nodes) => {
  if (nodes.length === 0) return [];
  try {
    return checker.getTypeAtLocation(nodes);
  } catch (error) {
    if (nodes.length === 1) {
      if (/TupleType/.test(String(error))) return [undefined];
      throw error;
    }
    const half = nodes.length >> 1;
    return [...typesOf(checker, nodes.slice(0, half)), ...typesOf(checker, nodes.slice(half))];
  }
};
/** Returns one line for each expression of a project whose type is `any`. */
const findAnyExpressions = (config = `${root}src/tsconfig.json`) => {
  const api = new API({ cwd: root });
  try {
    const [project] = api.updateSnapshot({ openProject: config }).getProjects();
    if (project === undefined) throw new Error(`${config} is not a project`);
    const base = config.replace(/[^/]*$/, '');
    const [wrong] = project.program.getSemanticDiagnostics();
    if (wrong !== undefined) throw new Error(`${wrong.fileName ?? config}: ${wrong.text}`);
    return project.program
      .getSourceFileNames()
      .filter((name) => name.startsWith(base) && !name.endsWith('.d.ts'))
      .flatMap((name) => {
        const file = project.program.getSourceFile(name);
        if (file === undefined) return [];
        const nodes = expressionsOf(file);
        return typesOf(project.checker, nodes).flatMap((type, i) => {
          const node = nodes[i];
          if (type === undefined || node === undefined || (type.flags & ANY) === 0) return [];
          const { pos, end } = node;
          const line = file.text.slice(0, end).split('\n').length;
          const text = file.text.slice(pos, end).trim().replace(/\s+/g, ' ');
          return [`${name.slice(base.length)}:${line} ${text.slice(0, 100)}`];
        });
      });
  } finally {
    api.close();
  }
};

const found = findAnyExpressions(process.argv[2]);
process.stdout.write([...found, `${found.length} expressions have the type any`, ''].join('\n'));
