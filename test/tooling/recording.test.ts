/** Tests the picture at the top of the README. */
import { existsSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { framesOf, scenes, svgOf } from './recording.mjs';

const root = new URL('../../', import.meta.url).pathname;
const ESCAPE = String.fromCharCode(27);
const frame = (...lines: string[]): string =>
  `${ESCAPE}[H${lines.map((line) => `${line}${ESCAPE}[K`).join('\r\n')}${ESCAPE}[J`;

it('frames of a terminal become scenes: what only the clock changes is one', () => {
  const frames = framesOf(
    [
      frame('orders: cluster 3.2.0, leader n1, 10:00:01Z', 'n1  leader  3.2.32  0  9 ms'),
      frame('orders: cluster 3.2.0, leader n1, 10:00:02Z', 'n1  leader  3.2.32  0  7 ms'),
      frame('orders: cluster 3.3.0, leader n1, 10:00:03Z', 'n1  leader  3.3.27  0  7 ms'),
    ].join(''),
  );
  expect(frames.length).toBe(3);
  expect(scenes(frames).map(([first]) => first?.slice(0, 23))).toEqual([
    'orders: cluster 3.2.0, ',
    'orders: cluster 3.3.0, ',
  ]);
});

it('equal frames produce equal pictures, colored and without markup from the input', () => {
  const svg = svgOf([[`${ESCAPE}[32mleader${ESCAPE}[39m <n1>`]]);
  expect(svg).toBe(svgOf([[`${ESCAPE}[32mleader${ESCAPE}[39m <n1>`]]));
  expect(svg).toContain('<tspan fill="#7ee787">leader</tspan> &lt;n1&gt;');
});

it('the README shows a recorded upgrade from 3.2 to 3.3 above the installation', () => {
  const readme = readFileSync(`${root}README.md`, 'utf8');
  expect(readme).toContain('](docs/kv-top.svg)');
  expect(existsSync(`${root}docs/kv-top.svg`)).toBe(true);
  const svg = readFileSync(`${root}docs/kv-top.svg`, 'utf8');
  for (const text of ['3.2.32', '3.3.27', '13 of 13 steps']) expect(svg).toContain(text);
  const order = ['# opsctl', 'docs/kv-top.svg', 'embedded mock services', '## Install', '## Try it'];
  const places = order.map((text) => readme.indexOf(text));
  expect(places).toEqual([...places].sort((a, b) => a - b));
});
