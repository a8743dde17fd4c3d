/** Defines which sources may write shell scripts, systemd units and crontabs. Only a tag that quotes values may insert values. */
import { readFileSync, readdirSync } from 'node:fs';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { scriptText, sh } from '../src/core/shell.ts';
import {
  constantsOf,
  type Constants,
  isBuilt,
  parseSource,
  type Piece,
  piecesOf,
  readSources,
  walk,
} from './support/sources.ts';

/** Scripts with other rules, and the reason why external values cannot reach them unquoted. */
const exceptions: Readonly<Record<string, string>> = {
  'reference/completion.ts': 'the values are names of this program',
  'kv/snapshots/schedule.ts': 'the values are numbers',
  'commands/tracker/extensions.ts': 'EDITOR is a command of the user, as in git',
};

/** Syntax that appears only in a shell script, a unit or a crontab. */
const syntax =
  /\$\([a-z/"]|"\$[a-zA-Z@*]|[12]?>\s?&[12]|[12]?>\s?\/dev\/null|;\s*(?:(?:done|fi|esac)\b|(?:then|do)\n)|\|\|\s*(?:exit|true|\{)|^#!\/|(?:^|\n)\[(?:Unit|Service|Timer)\]|(?:^|\n)ExecStart=|\* \* \* \*|^(?:\s*(?:sudo|exec|env|nohup)\s+)*(?:systemctl|journalctl|docker|podman|kubectl|crictl|ssh|kill|rm|mv|cp|ln|mkdir|chmod|chown|cat|sha256sum|nohup|etcdctl|etcdutl)\s[^.]*\ufffc/;
/** Sentences that start with the name of a program, and commands whose only value is a number. */
const sentences =
  /^(?:kill (?:-CONT )?\ufffc|systemctl show(?: printed|:)|kubectl asks|sha256sum \ufffc, and compare|ssh -N -L \ufffc:)/;
/** The tags that quote their values. Each is a function of the source next to it. */
const tags = new Set(['sh', 'unitText', 'unitPaths', 'crontab', 'html', 'call', 'args', 'positional']);

/** A value that the tag `sh` made, or a list of values that a function of core/shell.ts quoted. */
const isQuoted = (piece: Piece, constants: Constants): boolean => {
  if (typeof piece === 'string') return true;
  const value = piece.type === 'Identifier' ? constants.get(piece['name']) : undefined;
  if (piece.type === 'TaggedTemplateExpression') return tags.has(piece['tag'].name);
  return value?.type === 'TaggedTemplateExpression' && tags.has(value['tag'].name);
};
/** Returns the scripts that contain values but have no tag that quotes the values. */
const plainScripts = (source: string): string[] => {
  const program = parseSource(source);
  const constants = constantsOf(program);
  const found: string[] = [];
  walk(program, (node, parent) => {
    if (!isBuilt(node) || (parent !== undefined && isBuilt(parent))) return;
    if (parent?.type === 'TaggedTemplateExpression' && tags.has(parent['tag'].name)) return;
    const pieces = piecesOf(node, constants);
    const text = pieces.map((one) => (typeof one === 'string' ? one : '\ufffc')).join('');
    const isPlain = pieces.some((one) => !isQuoted(one, constants));
    if (isPlain && syntax.test(text) && !sentences.test(text)) found.push(text);
  });
  return found;
};

const sources = readSources();

test('no shell script, unit or crontab contains a value outside of a quoting tag', () => {
  const found = sources.flatMap(([name, text]) =>
    name in exceptions ? [] : plainScripts(text).map((script) => `${name}: ${script}`),
  );
  expect(
    found,
    'write the script with the tag sh of core/shell.ts (a unit or a crontab: kv/snapshots/schedule.ts)',
  ).toEqual([]);
});

test.each([
  'const a = `echo "the unit ${unit} is wrong" >&2; exit 3`;',
  'const a = `[Unit]\\nDescription=${name}`;',
  'const a = `systemctl stop ${unit}`;',
  "const a = 'docker rm ' + name;",
  "const a = 'x ' + unit + ' 2>/dev/null || exit 3';",
  "const end = ' 2>/dev/null || exit 3'; const a = `x ${unit}${end}`;",
  "const verb = 'docker rm '; const a = verb + name;",
  "const verb = 'docker rm '; const a = verb.concat(name);",
  "const a = ['docker', 'rm', name].join(' ');",
  "const words = ['docker', 'rm', name]; const a = words.join(' ');",
  "const a = 'docker rm NAME 2>/dev/null'.replace('NAME', name);",
  'const a = String.raw`systemctl stop ${unit}`;',
  'const a = plain`systemctl stop ${unit}`;',
  "const key = 'ExecStart='; const a = key + command;",
  'const a = (`systemctl stop ${unit}` as string)!;',
])('the rule finds %s', (source) => {
  expect(plainScripts(source)).toHaveLength(1);
});
test.each([
  "const a = 'member ' + name + ' has stopped';",
  'const a = sh`echo "${unit}" >&2`;',
  'const a = `member ${name} has stopped`;',
  'const test = sh`[ -e ${path} ]`; const a = `${test} || exit 3`;',
])('the rule allows %s', (source) => {
  expect(plainScripts(source)).toEqual([]);
});

/** Returns all values of `run` and `script` in a workflow. */
const commandsIn = (value: unknown): string[] => {
  if (Array.isArray(value)) return value.flatMap(commandsIn);
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, one]) =>
    /^(?:run|script)$/.test(key) ? [one].flat().map(String) : commandsIn(one),
  );
};
test('no script of a workflow contains an expression, which the runner inserts as code', () => {
  const project = new URL('../', import.meta.url).pathname;
  const examples = readdirSync(`${project}docs/ci`).filter((name) => name.endsWith('.yml'));
  const files = ['action.yml', ...examples.map((name) => `docs/ci/${name}`)];
  const commands = files.flatMap((name) => commandsIn(parse(readFileSync(`${project}${name}`, 'utf8'))));
  expect(commands.length).toBeGreaterThan(files.length);
  expect(commands.filter((command) => command.includes('${{'))).toEqual([]);
});

/** The sources that start a shell, and where its script comes from. */
const shells: Readonly<Record<string, string>> = {
  'auth/machine/identity-token.ts': 'a command of the user',
  'commands/mock/serve.ts': 'scriptText',
  'commands/tracker/extensions.ts': 'the editor of the user',
  'kv/upgrade/rehearse/private-copy.ts': 'scriptText',
  'kv/upgrade/supervisors/driver.ts': 'scriptText',
  'kv/upgrade/supervisors/local.ts': 'scriptText',
  'kv/upgrade/supervisors/process-record.ts': 'scriptText',
  'kv/upgrade/supervisors/ssh.ts': 'scriptText',
  'kv/upgrade/supervisors/successor.ts': 'scriptText',
  'kv/upgrade/window/window.ts': 'a command of the user',
  'platform/node/programs.ts': 'a fixed text, and the pager of the user',
};
/** Matches `'sh'`, `'/bin/bash'`, `'-c'` and their like as a whole word of a command. */
const shellWord = /^(?:(?:\/usr)?\/bin\/)?(?:sh|bash|dash|ash|ksh|zsh|cmd|powershell|pwsh)(?:\.exe)?$|^-l?c$/;
/** Returns the sources that name a shell, outside of lists of shells, and whether each passes a script only through `scriptText`. */
const shellsIn = (source: string): { isShell: boolean; isTyped: boolean } => {
  if (!/['"`](?:[\w/]*(?:sh|cmd)(?:\.exe)?|-l?c)['"`]|call`[\w/]*sh\b|powershell|\bshell:/.test(source))
    return { isShell: false, isTyped: false };
  const program = parseSource(source);
  let isShell = false;
  walk(program, (node, parent) => {
    const isWord = node.type === 'Literal' && shellWord.test(String(node['value']));
    isShell ||= isWord && /^(ArrayExpression|CallExpression|LogicalExpression)$/.test(parent?.type ?? '');
    isShell ||= node.type === 'TemplateElement' && /^(?:\/bin\/)?sh(?:\s|$)/.test(node['value'].raw);
    isShell ||= node.type === 'Property' && node['key'].name === 'shell' && node['value'].value === true;
  });
  return { isShell, isTyped: source.includes('scriptText(') };
};
/** Sources with words that look like a shell, and what they are. */
const otherWords: Readonly<Record<string, string>> = {
  'commands/integrations.ts': 'names of shells for completion',
  'output/expressions.ts': 'a flag of jq',
};
test('a shell gets a fixed text, a script of the tag sh, or the command of the user', () => {
  const found = sources
    .filter(([name]) => !(name in otherWords))
    .flatMap(([name, text]) => {
      const { isShell, isTyped } = shellsIn(text);
      return isShell ? [[name, isTyped] as const] : [];
    });
  const typed = Object.entries(shells).filter(([, origin]) => origin === 'scriptText');
  expect(found.map(([name]) => name).toSorted()).toEqual(Object.keys(shells));
  expect(
    found
      .filter(([, isTyped]) => isTyped)
      .map(([name]) => name)
      .toSorted(),
  ).toEqual(typed.map(([name]) => name));
});
test.each([
  "processes.run('/bin/bash', ['-s'], { input });",
  "processes.run('sh', words);",
  "const words = ['-c', text]; processes.run(shell, words);",
  "processes.run(shell ?? '/bin/sh', words);",
  'processes.run(program, words, { shell: true });',
])('a shell is found in %s', (source) => {
  expect(shellsIn(source).isShell).toBe(true);
});

test('a shell takes no text that the tag did not make', () => {
  expect(scriptText(sh`echo ${'a b'}`)).toBe("echo 'a b'");
  // @ts-expect-error A string is not a script.
  expect(() => scriptText('echo a')).toThrow(TypeError);
  // @ts-expect-error A template without the tag is a string.
  expect(() => scriptText(`echo ${'a'}`)).toThrow(TypeError);
  const cast = { toString: () => 'echo a' };
  // @ts-expect-error An object with the same methods is not a script.
  expect(() => scriptText(cast)).toThrow(TypeError);
});
test('no source casts a text to a script', () => {
  const casts = sources.filter(
    ([name, text]) => name !== 'core/shell.ts' && /as (?:unknown as )?ShellScript\b/.test(text),
  );
  expect(casts.map(([name]) => name)).toEqual([]);
});
