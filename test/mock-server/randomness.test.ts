import { describe, expect, it } from 'vitest';
import { randomFor, uuidFrom } from '../../src/mock-server/service-set.ts';
import { Store } from '../../src/mock-server/store.ts';

const counting = () => {
  const asked: number[] = [];
  const source = (bytes: number) => {
    asked.push(bytes);
    return Uint8Array.from({ length: bytes }, (_, i) => (i * 7 + asked.length) % 256);
  };
  return { asked, source };
};

describe('random bytes', () => {
  it('come from the machine, a page at a time', () => {
    const { asked, source } = counting();
    const random = randomFor(source, undefined, new Store());
    const first = random(16);
    const second = random(16);
    expect(first).not.toEqual(second);
    for (let i = 0; i < 300; i++) random(16);
    expect(asked.length).toBe(2);
    expect(random(10_000).length).toBe(10_000);
  });
  it('random bytes are not shared: changing one result changes no other', () => {
    const random = randomFor(counting().source, undefined, new Store());
    const first = random(4);
    first.fill(0);
    expect(random(4)).not.toEqual(first);
  });
  it('random bytes are equal for equal seeds and differ for other seeds', () => {
    const made = (seed: string) => uuidFrom(randomFor(counting().source, seed, new Store()));
    expect(made('a')).toBe(made('a'));
    expect(made('a')).not.toBe(made('b'));
  });
  it('random bytes differ after a restart with saved state', () => {
    const store = new Store();
    const made = () => uuidFrom(randomFor(counting().source, 'a', store));
    expect(made()).not.toBe(made());
  });
  it('make identifiers of version 4', () => {
    const random = randomFor(counting().source, 'x', new Store());
    for (let i = 0; i < 50; i++)
      expect(uuidFrom(random)).toMatch(
        /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
      );
  });
});
