import { expect, it } from 'vitest';
import type { UpgradeEvent } from '../../../../src/kv/engine/model.ts';
import { collapseLines, patternOf } from '../../../../src/kv/upgrade/watch/log-lines.ts';

it('lines that differ only in times, numbers and ids have one pattern', () => {
  const line = (second: number, port: number): string =>
    `2026-01-01 00:00:0${second}.1 W | rejected connection from "127.0.0.1:${port}" (error "tls: bad certificate")`;
  expect(patternOf(line(1, 4001))).toBe(patternOf(line(2, 51)));
  expect(patternOf(line(1, 1))).not.toBe(patternOf('2026-01-01 00:00:01.1 W | clock difference'));
});

it('repeated lines are reported once, at each power of ten, and with their count at the end', () => {
  const lines: string[] = [];
  const collapse = collapseLines({
    emit: (event: UpgradeEvent) => {
      if (event.event === 'log-line') lines.push(`${event.member} ${event.line}`);
    },
  } as Parameters<typeof collapseLines>[0]);
  for (let i = 0; i < 1464; i += 1) collapse.add('n1', `tls: bad certificate ${i}`);
  collapse.add('n2', 'tls: bad certificate 7');
  collapse.finish();
  expect(lines).toEqual([
    'n1 tls: bad certificate 0',
    'n1 tls: bad certificate 9 (×10)',
    'n1 tls: bad certificate 99 (×100)',
    'n1 tls: bad certificate 999 (×1,000)',
    'n2 tls: bad certificate 7',
    'n1 tls: bad certificate 1463 (×1,464)',
  ]);
});
