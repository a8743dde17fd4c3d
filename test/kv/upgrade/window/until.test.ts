import { describe, expect, it } from 'vitest';
import { parseUntil, untilText } from '../../../../src/kv/upgrade/window/window.ts';
import { naming } from '../../../support/facts.ts';

const noon = Date.parse('2026-01-10T12:00:00.500Z');
const at = (text: string, zone = 'Z', now = noon): string => {
  const until = parseUntil(text, now, zone);
  return typeof until === 'string' ? until : `${new Date(until.atMs).toISOString()} ${until.zone}`;
};

describe('the end of a window', () => {
  it.each([
    ['13:05', '2026-01-10T13:05:00.000Z Z'],
    [' 13:05 ', '2026-01-10T13:05:00.000Z Z'],
    ['12:01', '2026-01-10T12:01:00.000Z Z'],
    ['12:00', '2026-01-11T12:00:00.000Z Z'],
    ['0:00', '2026-01-11T00:00:00.000Z Z'],
    ['23:59', '2026-01-10T23:59:00.000Z Z'],
    ['13:05Z', '2026-01-10T13:05:00.000Z Z'],
    ['13:05+02:00', '2026-01-11T11:05:00.000Z +02:00'],
    ['13:05-05:30', '2026-01-10T18:35:00.000Z -05:30'],
    ['13:05 Asia/Kolkata', '2026-01-11T07:35:00.000Z Asia/Kolkata'],
    ['2026-01-10T12:00:01Z', '2026-01-10T12:00:01.000Z Z'],
    ['2026-01-10T12:00:00.501Z', '2026-01-10T12:00:00.501Z Z'],
  ])('%s', (text, expected) => {
    expect(at(text)).toBe(expected);
  });
  it.each([
    ['2026-01-10T13:00+01:00', 'past'],
    ['2026-01-10T12:00:00.5Z', 'past'],
    ['2026-13-01T00:00Z', 'time'],
    ['24:00', 'RFC 3339'],
    ['12:60', 'RFC 3339'],
    ['13:05 Nowhere', 'Nowhere'],
  ])('%s is not a time in the future', (text, value) => {
    expect(at(text)).toEqual(naming(value));
  });
  it('a window that ends at this very moment means tomorrow', () => {
    const now = Date.parse('2026-01-10T12:00:00Z');
    expect(at('12:00', 'Z', now)).toBe('2026-01-11T12:00:00.000Z Z');
    expect(at('12:00', 'Z', now - 1)).toBe('2026-01-10T12:00:00.000Z Z');
    expect(at('2026-01-10T12:00:00Z', 'Z', now)).toEqual(naming('past'));
  });
  it('a window in a zone with a clock change that night is correct on both sides', () => {
    const spring = Date.parse('2026-03-28T23:30:00Z');
    const autumn = Date.parse('2026-10-24T22:30:00Z');
    const berlin = (text: string, now: number) => at(text, 'Europe/Berlin', now).slice(0, 16);
    expect(berlin('01:30', spring)).toBe('2026-03-29T00:30');
    expect(berlin('03:30', spring)).toBe('2026-03-29T01:30');
    expect(berlin('01:30', autumn)).toBe('2026-10-24T23:30');
    expect(berlin('04:30', autumn)).toBe('2026-10-25T03:30');
  });
  it('a window keeps the typed text, and is shown by its own clock', () => {
    expect(parseUntil(' 13:05 ', noon, 'Asia/Kolkata')).toMatchObject({
      text: '13:05',
      zone: 'Asia/Kolkata',
    });
    const atMs = Date.parse('2026-01-10T18:35:00Z');
    expect(untilText({ atMs, zone: '-05:30' })).toBe('13:05 (-05:30)');
    expect(untilText({ atMs, zone: '+05:30' })).toBe('00:05 (+05:30)');
    expect(untilText({ atMs, zone: 'Z' })).toBe('18:35 (UTC)');
    expect(untilText({ atMs, zone: 'America/New_York' })).toBe('13:35 (America/New_York)');
  });
});
