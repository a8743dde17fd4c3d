// @ts-check
// `node test/tooling/recording.mjs` upgrades a simulated cluster while `kv top` watches it on a terminal of 80 x 24, and
// writes the output of the terminal as an animated picture (docs/kv-top.svg). Requires the build.
import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));
const ESCAPE = String.fromCharCode(27);
const COLUMNS = 80;
const ROWS = 16;
const SECONDS_A_FRAME = 1.3;
/** @type {Readonly<Record<string, string>>} */
const colours = { 31: '#ff7b72', 32: '#7ee787', 33: '#e3b341', 36: '#79c0ff', 2: '#8b949e' };

/**
 * Returns the frames of a recorded terminal. Each frame starts at the top and finishes by clearing the rest of the screen.
 * @type {typeof import('./recording.mjs').framesOf}
 */
export const framesOf = (raw) =>
  raw
    .split(`${ESCAPE}[H`)
    .slice(1)
    .filter((part) => part.includes(`${ESCAPE}[J`))
    .map((part) =>
      part
        .slice(0, part.indexOf(`${ESCAPE}[J`))
        .replaceAll(`${ESCAPE}[K`, '')
        .split('\r\n'),
    );

/** @param {string} line */
const plain = (line) => line.replaceAll(new RegExp(`${ESCAPE}\\[[0-9;]*m`, 'g'), '');
/**
 * Returns the text of a frame without the clock, the latencies and the counts, whose changes are not relevant to a viewer.
 * @param {readonly string[]} lines
 */
const sight = (lines) =>
  lines
    .map(plain)
    .filter((line) => /^(n\d|run|now|\w+: cluster)/.test(line))
    .map((line) =>
      line
        .replace(/, [\d:]+Z$/, '')
        .replace(/^(n\d +\S+ +\S+).*/, '$1')
        .replaceAll(/ +/g, ' '),
    )
    .join('\n');
/**
 * Returns the last frame of each state of the cluster.
 * @type {typeof import('./recording.mjs').scenes}
 */
export const scenes = (frames) =>
  frames.filter((lines, at) => {
    const next = frames[at + 1];
    return next === undefined || sight(lines) !== sight(next);
  });

/** @param {string} text */
const escaped = (text) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
/** @param {string} line */
const spans = (line) => {
  let colour = '';
  return line
    .split(new RegExp(`(${ESCAPE}\\[[0-9;]*m)`))
    .map((part) => {
      if (!part.startsWith(ESCAPE)) {
        if (part === '') return '';
        return colour === '' ? escaped(part) : `<tspan fill="${colour}">${escaped(part)}</tspan>`;
      }
      colour = colours[part.slice(2, -1)] ?? '';
      return '';
    })
    .join('');
};

/**
 * Returns an SVG that shows these frames one after the other in an endless loop. Pure.
 * @type {typeof import('./recording.mjs').svgOf}
 */
export const svgOf = (frames) => {
  const total = frames.length * SECONDS_A_FRAME;
  const share = 100 / frames.length;
  const [width, height] = [COLUMNS * 8.4 + 32, ROWS * 19 + 32];
  const groups = frames.map((lines, at) => {
    const rows = lines
      .slice(0, ROWS)
      .map((line, row) => `<text x="16" y="${30 + row * 19}">${spans(line)}</text>`)
      .join('');
    const delay = (at * SECONDS_A_FRAME).toFixed(1);
    return `<g style="animation-delay:${delay}s">${rows}</g>`;
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="opsctl kv top during the upgrade of a simulated cluster">
<style>text{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;fill:#c9d1d9;white-space:pre}
g{visibility:hidden;animation:shown ${total.toFixed(1)}s step-end infinite}
@keyframes shown{0%{visibility:visible}${share.toFixed(3)}%{visibility:hidden}}
@media (prefers-reduced-motion:reduce){g{animation:none}g:last-of-type{visibility:visible}}</style>
<rect width="100%" height="100%" rx="8" fill="#0d1117"/>
${groups.join('\n')}
</svg>
`;
};

/** @param {import('node:child_process').ChildProcess} child */
const ended = (child) => new Promise((resolve) => child.once('exit', resolve));
const record = async () => {
  const home = mkdtempSync(join(tmpdir(), 'opsctl-recording-'));
  const program = join(root, 'bin/opsctl.js');
  const env = { PATH: process.env.PATH, HOME: home, OPSCTL_HOME: home, TERM: 'xterm', LANG: 'C.UTF-8' };
  const cluster = join(home, 'orders/cluster.yaml');
  /** @param {string[]} words */
  const run = (...words) =>
    spawnSync(process.execPath, [program, ...words], { env, cwd: home, encoding: 'utf8' });
  try {
    run('mock', 'kv', 'start', '--dir', 'orders', '-q');
    const line = `stty cols ${COLUMNS} rows 24; exec ${process.execPath} ${program} kv top --canary --interval 300ms --cluster ${cluster}`;
    const terminal = spawn('script', ['-qec', line, '/dev/null'], { env, cwd: home });
    let raw = '';
    terminal.stdout.on('data', (piece) => (raw += piece));
    const over = ended(terminal);
    while (framesOf(raw).length < 3) await new Promise((resolve) => setTimeout(resolve, 200));
    const words = ['kv', 'upgrade', '--cluster', cluster, '--yes', '--accept-point-of-no-return', '-q'];
    const code = await ended(
      spawn(process.execPath, [program, ...words], { env: { ...env, CI: '1' }, cwd: home, stdio: 'ignore' }),
    );
    if (code !== 0) throw new Error(`the upgrade ended with ${code}`);
    const upTo = framesOf(raw).length + 3;
    while (framesOf(raw).length < upTo) await new Promise((resolve) => setTimeout(resolve, 200));
    terminal.stdin.write('q');
    await over;
    return framesOf(raw);
  } finally {
    run('mock', 'kv', 'stop', '--dir', 'orders', '-q');
    rmSync(home, { recursive: true, force: true });
  }
};

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const frames = scenes(await record());
  writeFileSync(join(root, 'docs/kv-top.svg'), svgOf(frames));
  process.stdout.write(
    `${frames.length} frames in docs/kv-top.svg\n${frames.map((lines) => lines.map(plain).join('\n')).join('\n---\n')}\n`,
  );
}
