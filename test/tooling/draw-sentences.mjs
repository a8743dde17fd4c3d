// @ts-check
/**
 * Draws sentences of the help, the messages and the documentation at random for a review by an editor.
 *
 *     node test/tooling/draw-sentences.mjs [SEED] [COUNT]
 *
 * Prints the seed and COUNT sentences of each kind (20 by default) with their places. The same seed draws the
 * same sentences from the same sources. Build the program first, because the help comes from `opsctl commands`.
 */
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { parseAst } from 'rolldown/parseAst';
import { isNode } from './syntax.mjs';

/** @typedef {{ readonly place: string, readonly text: string }} Found */
const root = new URL('../../', import.meta.url).pathname;
const seed = Number(process.argv[2] ?? Date.now() % 1_000_000);
const count = Number(process.argv[3] ?? 20);

/**
 * Returns a generator of numbers in [0, 1) for a seed (mulberry32).
 * @param {number} start
 */
const createRandom = (start) => {
  let state = start;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
};
const random = createRandom(seed);
/** @param {readonly Found[]} all */
const draw = (all) => {
  const rest = [...all];
  return Array.from({ length: Math.min(count, rest.length) }).flatMap(() =>
    rest.splice(Math.floor(random() * rest.length), 1),
  );
};
/** @param {string} text */
const isSentence = (text) => {
  const words = text.match(/[A-Za-z][a-z']+/g) ?? [];
  return words.length >= 4 && words.join('').length / text.length > 0.55;
};
/** @param {string} directory @param {string} suffix */
const filesOf = (directory, suffix) =>
  readdirSync(root + directory, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith(suffix))
    .map((file) => `${directory}/${file}`)
    .sort();

/** Returns the summaries, descriptions and flag texts of all commands. */
const helpTexts = () => {
  const ran = spawnSync(process.execPath, [`${root}bin/opsctl.js`, 'commands', '-o', 'json'], {
    encoding: 'utf8',
    maxBuffer: 1 << 28,
  });
  /** @type {Map<string, string>} */
  const found = new Map();
  /** @param {unknown} value @param {string} at */
  const visit = (value, at) => {
    if (Array.isArray(value)) for (const one of value) visit(one, at);
    if (value === null || typeof value !== 'object' || Array.isArray(value)) return;
    const names = new Map(Object.entries(value));
    const place = String(names.get('path') ?? names.get('command') ?? names.get('name') ?? at);
    for (const [key, part] of Object.entries(value)) {
      if (
        typeof part === 'string' &&
        /^(?:summary|about|description|text|help)$/.test(key) &&
        isSentence(part)
      )
        found.set(part, `${place} (${key})`);
      visit(part, place);
    }
  };
  visit(JSON.parse(ran.stdout), 'opsctl');
  return [...found].map(([text, place]) => ({ place, text }));
};

/** Returns the string literals of the source that read like a sentence. */
const messages = () =>
  filesOf('src', '.ts').flatMap((file) => {
    const source = readFileSync(root + file, 'utf8');
    /** @type {Found[]} */
    const found = [];
    /** @param {unknown} value */
    const visit = (value) => {
      if (Array.isArray(value)) for (const one of value) visit(one);
      if (!isNode(value) || /^Import|^TSImport/.test(value.type)) return;
      const text =
        value.type === 'Literal' && typeof value.value === 'string'
          ? value.value
          : value.type === 'TemplateLiteral'
            ? source.slice(value.start + 1, value.end - 1)
            : '';
      if (isSentence(text) && !text.includes('\n'))
        found.push({ place: `${file}:${source.slice(0, value.start).split('\n').length}`, text });
      for (const part of Object.values(value)) visit(part);
    };
    visit(parseAst(source, { lang: 'ts' }));
    return found;
  });

/** Returns the sentences of the documentation outside of code blocks and tables. */
const documentation = () =>
  [
    ...filesOf('docs', '.md').filter((file) => !/reference\/commands|docs\/spec/.test(file)),
    'README.md',
  ].flatMap((file) => {
    const prose = readFileSync(root + file, 'utf8')
      .replace(/^```[\s\S]*?^```/gm, '')
      .split('\n');
    return prose
      .filter((line) => !/^\s*(?:\||#|<!--)/.test(line))
      .flatMap((line) => line.split(/(?<=[.!?])\s+/))
      .filter(isSentence)
      .map((text) => ({ place: file, text }));
  });

process.stdout.write(`seed ${seed}\n`);
for (const { kind, all } of [
  { kind: 'help', all: helpTexts() },
  { kind: 'messages', all: messages() },
  { kind: 'docs', all: documentation() },
]) {
  process.stdout.write(`\n## ${kind}: ${count} of ${all.length}\n\n`);
  for (const [number, { place, text }] of draw(all).entries())
    process.stdout.write(`${number + 1}. ${text.trim()}\n   ${place}\n`);
}
