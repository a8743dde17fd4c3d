import { describe, expect, test } from 'vitest';
import { daysFrom, termsFrom } from '../../../src/mock-server/tracker/search-match.ts';

const word = (value: string, not = false) => ({ operator: '', value, not });
const term = (operator: string, value: string, not = false) => ({ operator, value, not });

describe('terms of a search', () => {
  test.each([
    ['', []],
    ['   ', []],
    ['one two', [word('one'), word('two')]],
    ['"one two"', [word('one two')]],
    ['!one', [word('one', true)]],
    ['-5', [word('-5')]],
    ['owner:ana', [term('owner', 'ana')]],
    ['OWNER:Ana', [term('owner', 'Ana')]],
    ['!owner:ana -label:bug', [term('owner', 'ana', true), term('label', 'bug', true)]],
    ['epic:"A: \\"B\\""', [term('epic', 'A: "B"')]],
    ['label:"two words" x', [term('label', 'two words'), word('x')]],
    ['https://a.example/b', [word('https://a.example/b')]],
    ['foo:bar', [word('foo:bar')]],
    ['!foo:bar', [word('foo:bar', true)]],
    ['created:2026-01-01..*', [term('created', '2026-01-01..*')]],
    ['"open quote', [word('"open'), word('quote')]],
  ])('%s', (query, terms) => {
    expect(termsFrom(query)).toEqual(terms);
  });
});

describe('days of a term', () => {
  const now = Date.parse('2026-03-05T23:59:59Z');
  const day = (text: string): number => Date.parse(`${text}T00:00:00Z`);
  const end = (text: string): number => day(text) + 86_400_000 - 1;
  test.each<[string, { from: number; to: number } | undefined]>([
    ['2026-01-02', { from: day('2026-01-02'), to: end('2026-01-02') }],
    ['today', { from: day('2026-03-05'), to: end('2026-03-05') }],
    ['yesterday', { from: day('2026-03-04'), to: end('2026-03-04') }],
    ['TOMORROW', { from: day('2026-03-06'), to: end('2026-03-06') }],
    ['2026-01-01..2026-02-01', { from: day('2026-01-01'), to: end('2026-02-01') }],
    ['*..today', { from: Number.NEGATIVE_INFINITY, to: end('2026-03-05') }],
    ['2026-01-01..*', { from: day('2026-01-01'), to: Number.POSITIVE_INFINITY }],
    ['*..*', { from: Number.NEGATIVE_INFINITY, to: Number.POSITIVE_INFINITY }],
    ['*', undefined],
    ['soon', undefined],
    ['2026-01-01..soon', undefined],
    ['2026-1-1', undefined],
  ])('%s', (text, days) => {
    expect(daysFrom(text, now)).toEqual(days);
  });
});
