/** Defines which sources may write shell scripts, systemd units and crontabs. Only a tag that quotes values may insert values. */
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { parseAst } from 'rolldown/parseAst';
import { expect, test } from 'vitest';

const source = new URL('../src/', import.meta.url).pathname;
/** Scripts with other rules, and the reason why external values cannot reach them unquoted. */
const exceptions: Readonly<Record<string, string>> = {
  'reference/completion.ts': 'the values are names of this program',
  'kv/snapshots/schedule.ts': 'the values are numbers',
  'tracker/long-text.ts': 'EDITOR is a command of the user, as in git',
};

type Node = { readonly type: string; readonly [key: string]: unknown };
const isNode = (value: unknown): value is Node =>
  typeof value === 'object' && value !== null && typeof (value as Node).type === 'string';
const visit = (node: Node, seen: (node: Node, parent: Node | undefined) => void, parent?: Node): void => {
  seen(node, parent);
  for (const value of Object.values(node))
    for (const child of Array.isArray(value) ? value : [value]) if (isNode(child)) visit(child, seen, node);
};

/** Syntax that appears only in a shell script, a unit or a crontab. */
const syntax =
  /\$\([a-z/"]|"\$[a-zA-Z@*]|[12]?>\s?&[12]|[12]?>\s?\/dev\/null|;\s*(?:(?:done|fi|esac)\b|(?:then|do)\n)|\|\|\s*(?:exit|true|\{)|^#!\/|(?:^|\n)\[(?:Unit|Service|Timer)\]|(?:^|\n)ExecStart=|\* \* \* \*|^(?:\s*(?:sudo|exec|env|nohup)\s+)*(?:systemctl|journalctl|docker|podman|kubectl|crictl|ssh|kill|rm|mv|cp|ln|mkdir|chmod|chown|cat|sha256sum|nohup|etcdctl|etcdutl)\s[^.]*\ufffc/;
type Template = { readonly text: string; readonly tag: string | undefined; readonly values: number };
const isSum = (node: Node | undefined): boolean =>
  node?.type === 'BinaryExpression' && node['operator'] === '+';
/** Returns the operands of a chain of `+`. */
const operandsOf = (node: Node): Node[] =>
  isSum(node) ? [...operandsOf(node['left'] as Node), ...operandsOf(node['right'] as Node)] : [node];
const isText = (node: Node): boolean => node.type === 'Literal' && typeof node['value'] === 'string';
const templatesOf = (text: string): Template[] => {
  const found: Template[] = [];
  visit(parseAst(text, { lang: 'ts' }) as unknown as Node, (node, parent) => {
    // A sum of texts and values is a template in another notation.
    if (isSum(node) && !isSum(parent)) {
      const operands = operandsOf(node);
      if (operands.some(isText))
        found.push({
          text: operands.map((one) => (isText(one) ? String(one['value']) : '\ufffc')).join(''),
          tag: undefined,
          values: operands.filter((one) => !isText(one)).length,
        });
    }
    if (node.type !== 'TemplateLiteral') return;
    const quasis = node['quasis'] as { readonly value: { readonly cooked: string } }[];
    const tag = parent?.type === 'TaggedTemplateExpression' ? (parent['tag'] as Node)['name'] : undefined;
    found.push({
      text: quasis.map(({ value }) => value.cooked).join('\ufffc'),
      tag: tag as string | undefined,
      values: (node['expressions'] as unknown[]).length,
    });
  });
  return found;
};
/** Sentences that start with the name of a program, and commands whose only value is a number. */
const sentences =
  /^(?:kill (?:-CONT )?\ufffc|systemctl show(?: printed|:)|kubectl asks|sha256sum \ufffc, and compare|ssh -N -L \ufffc:)/;
/** Returns the script templates that contain values but have no tag that quotes the values. */
const plainScripts = (text: string): string[] =>
  templatesOf(text)
    .filter(
      ({ tag, values, text: own }) =>
        tag === undefined && values > 0 && syntax.test(own) && !sentences.test(own),
    )
    .map(({ text: own }) => own);

const sources = (readdirSync(source, { recursive: true }) as string[])
  .filter((name) => name.endsWith('.ts'))
  .map((name) => [name, readFileSync(join(source, name), 'utf8')] as const);

test('no shell script, unit or crontab contains a value outside of a quoting tag', () => {
  const found = sources.flatMap(([name, text]) =>
    name in exceptions || !text.includes('${')
      ? []
      : plainScripts(text).map((script) => `${name}: ${script}`),
  );
  expect(
    found,
    'write the script with the tag sh of core/shell.ts (a unit or a crontab: kv/snapshots/schedule.ts)',
  ).toEqual([]);
});

test('a plain template with shell syntax is found', () => {
  expect(plainScripts('const a = `echo "the unit ${unit} is wrong" >&2; exit 3`;')).toHaveLength(1);
  expect(plainScripts('const a = `[Unit]\\nDescription=${name}`;')).toHaveLength(1);
  expect(plainScripts('const a = `systemctl stop ${unit}`;')).toHaveLength(1);
  expect(plainScripts("const a = 'docker rm ' + name;")).toHaveLength(1);
  expect(plainScripts("const a = 'x ' + unit + ' 2>/dev/null || exit 3';")).toHaveLength(1);
  expect(plainScripts("const a = 'member ' + name + ' has stopped';")).toEqual([]);
  expect(plainScripts('const a = sh`echo "${unit}" >&2`;')).toEqual([]);
  expect(plainScripts('const a = `member ${name} has stopped`;')).toEqual([]);
});

/** Commands that the user wrote for a shell. */
const commandsOfUsers = new Set([
  ...['kv/upgrade/window/window.ts', 'auth/machine/identity-token.ts', 'platform/node/programs.ts'],
  ...['tracker/long-text.ts'],
]);
test('a shell gets a fixed text, a script of the tag sh, or the command of the user', () => {
  const found = sources.flatMap(([name, text]) => {
    const scripts = [...text.matchAll(/(?:'(?:\/bin\/)?sh', )?\[\s*'-c',\s*([^,\]]+)/g)].map(
      ([, script]) => script,
    );
    const isFixed = /const script = '[^']*';/.test(text);
    return commandsOfUsers.has(name)
      ? []
      : scripts.flatMap((script = '') =>
          (script === 'script' && isFixed) || /^String\(/.test(script) ? [] : [`${name}: ${script}`],
        );
  });
  expect(found).toEqual([]);
});
