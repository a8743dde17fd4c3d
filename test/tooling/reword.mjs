// @ts-check
// Finds fast tests that compare sentences: adds one word to every message in a copy of the sources and counts the tests
// that fail.
// Usage: node test/tooling/reword.mjs [TEST PATH …]
// Only tests of texts (`*.text.test.ts`, renderers, documents) should fail.
import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseAst } from 'rolldown/parseAst';
import { isNode } from './syntax.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));
const WORD = 'indeed';
/** Matches at least three words that start with a letter. Shorter texts are names, labels and parts of commands. */
const SENTENCE = /^[A-Za-z][\w'-]*,? [a-z(][^\n]* \S/;
/** Matches command lines, code in other languages and texts that programs read. */
const NO_MESSAGE =
  /^(?:opsctl|kv|select|insert|export|function|if|for|set|sudo|ssh|docker|systemctl) |[{}<>$;=]|https?:/;
/** Matches the start of a command line, and types of JSON. */
const COMMAND = /^(?:opsctl |systemctl |docker |podman |ssh |array of )/;
/** @returns {readonly string[]} */
const manualPages = () => JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).man;
/** The names of all commands, from the manual pages that the package lists. Tables of commands contain them. */
const commands = new Set(manualPages().map((path) => path.replace(/^.*\/opsctl-|\.1$/g, '')));
/** @param {string} text */
const isCommand = (text) => COMMAND.test(text) || commands.has(text.replaceAll(' ', '-'));
/** The simulated server prints the texts of the real server, which are not messages of opsctl. */
const IMITATIONS = /^src\/etcd-sim\//;
/**
 * Keys whose texts are not messages. Generated documents contain the summaries and descriptions, and their tests compare
 * them. A condition is quoted from the document of a service, and the parts of a help page are lists of command names.
 */
const KEYS = /^(?:summary|about|description|says|line|meaning|type|kind|event|name|condition|parts)$/;
/** Titles in these tables are quoted from the document of a service. */
const QUOTED = /^src\/api-specs\//;

/** @param {string} text */
const isMessage = (text) => SENTENCE.test(text) && !NO_MESSAGE.test(text) && !isCommand(text);
/** @typedef {import('./syntax.mjs').Node} Node */
/** @typedef {{ readonly name: string, readonly assertionResults: readonly { readonly status: string }[] }} Result */
/** @typedef {{ readonly testResults: readonly Result[], readonly numTotalTests: number }} Report */
/** @param {Node} node */
const stringOf = (node) =>
  node.type === 'Literal' && typeof node.value === 'string' ? node.value : undefined;
/** @param {Node} key */
const nameOf = (key) => (key.type === 'Identifier' ? key.name : (stringOf(key) ?? ''));
/**
 * Returns the position after the first word of each message.
 * @param {string} source @param {string} path
 */
export const placesOfMessages = (source, path = '') => {
  /** @type {number[]} */
  const places = [];
  /** @param {unknown} node @param {string | undefined} key */
  const visit = (node, key) => {
    if (Array.isArray(node)) {
      for (const one of node) visit(one, key);
      return;
    }
    if (!isNode(node) || /^(?:Import|TS(?:Type|Literal|Interface))/.test(node.type)) return;
    const name = node.type === 'Property' ? nameOf(node.key) : key;
    if (KEYS.test(name ?? '') || (name === 'title' && QUOTED.test(path))) return;
    const text = node.type === 'TemplateLiteral' ? (node.quasis[0]?.value.raw ?? '') : (stringOf(node) ?? '');
    const whole = node.type === 'TemplateLiteral' ? source.slice(node.start + 1, node.end - 1) : text;
    const isSentence =
      node.type === 'TemplateLiteral'
        ? SENTENCE.test(whole.replaceAll(/\$\{[^}]*\}/g, 'X')) && text.includes(' ') && !isCommand(whole)
        : isMessage(text);
    if (isSentence) places.push(source.indexOf(' ', node.start));
    // Keys of objects are names. They are not messages.
    const parts = node.type === 'Property' && !node.computed ? [node.value] : Object.values(node);
    for (const part of parts) if (typeof part === 'object' && part !== null) visit(part, name);
  };
  visit(parseAst(source, { lang: 'ts' }), '');
  return places;
};
/** @param {string} source @param {string} path */
export const reworded = (source, path = '') =>
  placesOfMessages(source, path)
    .sort((a, b) => b - a)
    .reduce((text, at) => `${text.slice(0, at)} ${WORD}${text.slice(at)}`, source);

const main = () => {
  const copy = mkdtempSync(join(tmpdir(), 'opsctl-reworded-'));
  /** @param {string} path */
  const isLeftOut = (path) => /(^|\/)(node_modules|\.git|release|coverage)(\/|$)/.test(relative(root, path));
  try {
    cpSync(root, copy, { recursive: true, filter: (source) => !isLeftOut(source) });
    symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'));
    let messages = 0;
    for (const entry of readdirSync(join(copy, 'src'), { recursive: true, withFileTypes: true })) {
      if (!entry.isFile() || !entry.name.endsWith('.ts')) continue;
      const path = join(entry.parentPath, entry.name);
      const name = relative(copy, path);
      if (IMITATIONS.test(name)) continue;
      const source = readFileSync(path, 'utf8');
      messages += placesOfMessages(source, name).length;
      writeFileSync(path, reworded(source, name));
    }
    const report = join(copy, 'reworded.json');
    const reporters = ['--reporter=dot', '--reporter=json', `--outputFile.json=${report}`];
    spawnSync('npx', ['vitest', 'run', '--project', 'fast', ...reporters, ...process.argv.slice(2)], {
      cwd: copy,
      stdio: 'ignore',
    });
    /** @type {Report} */
    const { testResults, numTotalTests } = JSON.parse(readFileSync(report, 'utf8'));
    const failed = testResults
      .map(({ name, assertionResults }) => ({
        file: relative(copy, name),
        count: assertionResults.filter(({ status }) => status === 'failed').length,
      }))
      .filter(({ count }) => count > 0)
      .sort((a, b) => b.count - a.count);
    for (const { file, count } of failed) process.stdout.write(`${count} ${file}\n`);
    /** @param {readonly { readonly count: number }[]} files */
    const countOf = (files) => files.reduce((sum, { count }) => sum + count, 0);
    const others = failed.filter(({ file }) => !file.endsWith('.text.test.ts'));
    process.stdout.write(
      `${messages} messages reworded: ${countOf(failed)} of ${numTotalTests} fast tests fail, in ${failed.length} files; ${countOf(others)} of them are not in *.text.test.ts\n`,
    );
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
};
if (process.argv[1] === fileURLToPath(import.meta.url)) main();
