import type { ColorJson } from './api-types.ts';

const byte = (part: number | undefined): string =>
  Math.round(Math.min(1, Math.max(0, part ?? 0)) * 255)
    .toString(16)
    .padStart(2, '0');

/** `{red, green, blue}` between 0 and 1 as #rrggbb; #rrggbbaa when it is not opaque. Colours are compared in this form. */
export const hexFrom = ({ red, green, blue, alpha }: ColorJson): string =>
  `#${byte(red)}${byte(green)}${byte(blue)}${alpha === undefined || alpha === 1 ? '' : byte(alpha)}`;

export const isHex = (text: string): boolean => /^#([0-9a-fA-F]{6}|[0-9a-fA-F]{8})$/.test(text);

const partAt = (hex: string, at: number): number =>
  Math.round((Number.parseInt(hex.slice(at, at + 2), 16) / 255) * 1e6) / 1e6;

/** The service's form of #rrggbb. */
export const colorFrom = (hex: string): ColorJson => ({
  red: partAt(hex, 1),
  green: partAt(hex, 3),
  blue: partAt(hex, 5),
  ...(hex.length === 7 ? {} : { alpha: partAt(hex, 7) }),
});
