import { expect, test } from 'vitest';
import { hexFrom, isHex } from '../../src/label-definitions/color.ts';

test.each([
  ['opaque', { red: 1, green: 0.5, blue: 0 }, '#ff8000'],
  ['opaque, and saying so', { red: 1, alpha: 1 }, '#ff0000'],
  ['half transparent', { blue: 1, alpha: 0.5 }, '#0000ff80'],
  ['beyond its limits', { red: 2, green: -1 }, '#ff0000'],
])('a color that is %s', (_, color, hex) => {
  expect(hexFrom(color)).toBe(hex);
  expect(isHex(hex)).toBe(true);
});
