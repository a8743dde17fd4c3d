import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { makeRedactor } from '../../src/output/redact.ts';
import { covers } from '../support/covers.ts';

const hiding = (...secrets: string[]) => {
  const redactor = makeRedactor();
  for (const secret of secrets) redactor.hide(secret);
  return redactor;
};

describe('a secret of any length and of any bytes', () => {
  test.each([
    ['a', 25_000],
    ['/', 12_000],
    ['é', 6_000],
    ['a', 1_000_000],
  ])('%s times %d is replaced', (letter, count) => {
    const secret = `SEKRET${letter.repeat(count)}`;
    const redactor = hiding(secret);
    expect(redactor.clean(`<${secret}> and <${JSON.stringify(secret)}>`)).toBe('<***> and <"***">');
    const stream = redactor.stream();
    const half = Math.floor(secret.length / 2);
    const parts = [`<${secret.slice(0, half)}`, `${secret.slice(half)}>`];
    expect(parts.map((part) => stream.push(part)).join('') + stream.end()).toBe('<***>');
  });
  test(
    'redaction of any bytes never throws and leaves no secret',
    covers('defect/D1-1', 'defect/R-1'),
    () => {
      const bytes = fc.uint8Array({ minLength: 8, maxLength: 400 });
      fc.assert(
        fc.property(bytes, fc.array(fc.nat(2000), { maxLength: 5 }), (raw, cuts) => {
          const secret = Buffer.from(raw).toString('latin1');
          const redactor = hiding(secret);
          const text = `a ${secret} b ${secret}${secret} c`;
          expect(redactor.clean(text)).not.toContain(secret);
          const stream = redactor.stream();
          const places = [0, ...cuts.map((cut) => cut % text.length).sort((a, b) => a - b), text.length];
          const pieces = places.slice(1).map((end, i) => text.slice(places[i], end));
          expect(pieces.map((piece) => stream.push(piece)).join('') + stream.end()).toBe(
            redactor.clean(text),
          );
        }),
      );
    },
  );
  test('a secret inside a longer one is not left over', () => {
    expect(hiding('abcd1234', 'xxabcd1234yy').clean('xxabcd1234yy abcd1234')).toBe('*** ***');
  });
});
