import { expect, test } from 'vitest';
import { colorFrom, hexFrom, isHex } from '../../src/labels/definition.ts';

test.each([
  ['opaque', { red: 1, green: 0.5, blue: 0 }, '#ff8000'],
  ['opaque, and saying so', { red: 1, alpha: 1 }, '#ff0000'],
  ['half transparent', { blue: 1, alpha: 0.5 }, '#0000ff80'],
  ['beyond its limits', { red: 2, green: -1 }, '#ff0000'],
])('a color that is %s', (_, color, hex) => {
  expect(hexFrom(color)).toBe(hex);
  expect(isHex(hex)).toBe(true);
});

test('a color of the file is converted to the form of the service, with its alpha if set', () => {
  expect(colorFrom('#ff0080')).toEqual({ red: 1, green: 0, blue: 0.501961 });
  expect(colorFrom('#010203ff')).toEqual({ red: 0.003922, green: 0.007843, blue: 0.011765, alpha: 1 });
});

test('a color of the service in the form of the file', () => {
  expect(hexFrom({})).toBe('#000000');
  expect(hexFrom({ red: 2, green: -1, blue: 0.5 })).toBe('#ff0080');
  expect(hexFrom({ red: 1, alpha: 1 })).toBe('#ff0000');
  expect(hexFrom({ red: 1, alpha: 0 })).toBe('#ff000000');
  expect(hexFrom({ red: 1, alpha: 0.5 })).toBe('#ff000080');
});

test('six or eight digits are a color', () => {
  const good = ['#1a2B3c', '#1a2b3c4D'];
  const bad = ['1a2b3c', '#1a2b3', '#1a2b3c4', '#1a2b3c4d5', '#1a2b3g', 'x#1a2b3c', ''];
  expect([good.every(isHex), bad.some(isHex)]).toEqual([true, false]);
});
