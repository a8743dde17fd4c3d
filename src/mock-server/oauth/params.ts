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

export const readParams = (text: string): Params => {
  const values = new Map<string, { raw: string; all: string[] }>();
  const repeated: string[] = [];
  let isWellFormed = true;
  let count = 0;
  for (const pair of text === '' ? [] : text.split('&')) {
    if (pair === '') continue;
    count += 1;
    const cut = pair.indexOf('=');
    const raw = cut < 0 ? '' : pair.slice(cut + 1);
    const name = decode(cut < 0 ? pair : pair.slice(0, cut));
    const value = decode(raw);
    // A state may be any bytes: it goes back as it came. Every other broken value spoils the request.
    if (name === undefined || (value === undefined && name !== 'state')) isWellFormed = false;
    const known = values.get(name ?? '');
    if (known === undefined) values.set(name ?? '', { raw, all: [value ?? ''] });
    else {
      known.all.push(value ?? '');
      repeated.push(name ?? '');
    }
  }
  return {
    get: (name) => values.get(name)?.all[0],
    all: (name) => values.get(name)?.all ?? [],
    raw: (name) => values.get(name)?.raw,
    repeated,
    count,
    isWellFormed,
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
