/** Name and value pairs of a query or a form body. */
export type Params = {
  get(name: string): string | undefined;
  /** Every value of a name, in order. */
  all(name: string): readonly string[];
  /** The raw percent-encoded text of the first value. */
  raw(name: string): string | undefined;
  readonly repeated: readonly string[];
  readonly count: number;
  /** False when a percent sequence is broken or bytes are not UTF-8. */
  readonly isWellFormed: boolean;
};

const decode = (text: string): string | undefined => {
  if (!text.includes('%')) return text.includes('+') ? text.replaceAll('+', ' ') : text;
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return undefined;
  }
};

type Pair = { readonly name: string | undefined; readonly value: string | undefined; readonly raw: string };
const pairOf = (text: string): Pair => {
  const cut = text.indexOf('=');
  const raw = cut < 0 ? '' : text.slice(cut + 1);
  return { name: decode(cut < 0 ? text : text.slice(0, cut)), value: decode(raw), raw };
};
/** A state may be any bytes: it goes back as it came. Every other broken value spoils the request. */
const isReadable = ({ name, value }: Pair): boolean =>
  name !== undefined && (value !== undefined || name === 'state');

export const readParams = (text: string): Params => {
  const values = new Map<string, { raw: string; all: string[] }>();
  const repeated: string[] = [];
  const pairs = text
    .split('&')
    .filter((pair) => pair !== '')
    .map(pairOf);
  for (const { name = '', value = '', raw } of pairs) {
    const known = values.get(name);
    if (known === undefined) values.set(name, { raw, all: [value] });
    else {
      known.all.push(value);
      repeated.push(name);
    }
  }
  return {
    get: (name) => values.get(name)?.all[0],
    all: (name) => values.get(name)?.all ?? [],
    raw: (name) => values.get(name)?.raw,
    repeated,
    count: pairs.length,
    isWellFormed: pairs.every(isReadable),
  };
};

const kept = /[A-Za-z0-9\-._~]/;
const hex = (byte: number): string => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;

/** The same bytes in one percent-encoded form that is safe in a query, a fragment and a header. */
export const reencoded = (raw: string): string => {
  const bytes: number[] = [];
  const source = Buffer.from(raw.replaceAll('+', ' '));
  for (let i = 0; i < source.length; i++) {
    const pair = source[i] === 0x25 ? source.toString('latin1', i + 1, i + 3) : '';
    if (/^[0-9A-Fa-f]{2}$/.test(pair)) {
      bytes.push(Number.parseInt(pair, 16));
      i += 2;
    } else bytes.push(source[i] ?? 0);
  }
  return bytes
    .map((byte) =>
      byte < 128 && kept.test(String.fromCharCode(byte)) ? String.fromCharCode(byte) : hex(byte),
    )
    .join('');
};
