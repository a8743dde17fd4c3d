import { limits } from './limits.ts';
import { cutText, AppError } from './problem.ts';

/** A page of help as data: the terminal, the Markdown reference and the man pages are made from the same one. */
export type Block =
  | { readonly kind: 'heading'; readonly text: string }
  | { readonly kind: 'text'; readonly text: string }
  /** Terms with what they mean: flags, arguments, commands. */
  | { readonly kind: 'terms'; readonly rows: readonly (readonly [string, string])[] }
  /** Shell commands; `note` states their purpose. */
  | { readonly kind: 'shell'; readonly lines: readonly string[]; readonly note?: string };
export type Page = {
  /** `opsctl tracker labels create`, `opsctl help output`. */
  readonly title: string;
  readonly summary: string;
  readonly blocks: readonly Block[];
};
export const heading = (text: string): Block => ({ kind: 'heading', text });
export const prose = (text: string): Block => ({ kind: 'text', text });
export const terms = (rows: readonly (readonly [string, string])[]): Block => ({ kind: 'terms', rows });
export const shell = (note: string | undefined, ...lines: string[]): Block =>
  note === undefined ? { kind: 'shell', lines } : { kind: 'shell', lines, note };

/**
 * A response that cannot be a page: it comes from another service, or the service returns pages in a cycle.
 */
export const brokenPage = (what: string, why: string): AppError =>
  new AppError('network', `${what}: ${why}`, {
    code: 'OTHER_SHAPE',
    tryThis: ['check the base URL: another service may be answering'],
  });
/** The user can stop an endless list of rows. Endless pages also fill the memory with their marks. */
const tooManyPages = (what: string): AppError =>
  new AppError('network', `${what}: the list has more than ${limits.pages} pages`, {
    code: 'TOO_MANY_PAGES',
    tryThis: ['ask for larger pages', 'check the base URL: another service may be answering'],
  });
/**
 * Watches a list that comes in pages: one that goes round in a circle, whose pages are empty for ever or have always one behind them, would never end.
 * `next` is a token, a path or a number; `named` is how the service calls it.
 */
export const pageWatch = (what: string, named = 'page') => {
  const seen = new Set<string>();
  let pages = 0;
  let empty = 0;
  return {
    refuseAgain: (next: string | number): void => {
      const key = String(next);
      if (seen.has(key))
        throw brokenPage(what, `the service returned the ${named} ${cutText(key, 200)} twice`);
      seen.add(key);
    },
    /** Pages by offset have no mark. A page that starts like an earlier page counts as a repetition. */
    refuseSameBeginning: ([first]: readonly unknown[]): void => {
      if (typeof first !== 'object' || first === null) return;
      const key = JSON.stringify(first);
      if (seen.has(key))
        throw brokenPage(what, `the service returned the page that starts with ${cutText(key, 200)} twice`);
      seen.add(key);
    },
    /** Receives the number of rows of each page. */
    refuseForEver: (rows: number): void => {
      pages += 1;
      if (pages > limits.pages) throw tooManyPages(what);
      empty = rows === 0 ? empty + 1 : 0;
      if (empty > limits.emptyPages)
        throw brokenPage(what, `the service returned ${empty} pages without a row`);
    },
  };
};

const makeListChangedError = (what: string, why: string): AppError =>
  new AppError('network', `${what}: ${why}`, {
    code: 'LIST_CHANGED',
    tryThis: ['run the command again: the list may have changed while it was read'],
  });
/** Compares the rows of all pages with the total that the service reports, and rejects a record that two pages contain. */
export const watchRows = (what: string) => {
  const ids = new Set<unknown>();
  let count = 0;
  return {
    add: (rows: readonly unknown[]): void => {
      count += rows.length;
      for (const row of rows) {
        const id = typeof row === 'object' && row !== null ? (row as { id?: unknown }).id : undefined;
        if (id === undefined || id === null) continue;
        if (ids.has(id)) throw makeListChangedError(what, `two pages contain the record ${String(id)}`);
        ids.add(id);
      }
    },
    /** After the last page. `most` is the number of rows that the service returns at most. */
    end: (total: unknown, most = Number.POSITIVE_INFINITY): void => {
      if (typeof total !== 'number' || count === Math.min(total, most)) return;
      const rows = count === 1 ? '1 row' : `${count} rows`;
      throw makeListChangedError(what, `the service returned ${rows}, but reports a total of ${total}`);
    },
  };
};

/**
 * Counts the rows of a list that a command holds or searches before it continues, because an endless list
 * would fill the memory. `refuseMore` receives the number of new rows.
 */
export const heldRows = (what: string) => {
  let rows = 0;
  return {
    refuseMore: (more: number): void => {
      rows += more;
      if (rows <= limits.heldRows) return;
      throw new AppError('network', `${what}: the list has more than ${limits.heldRows} rows`, {
        code: 'TOO_MANY_ROWS',
        tryThis: [
          'give ids instead of names, so that no list has to be read',
          'check the base URL: another service may be answering',
        ],
      });
    },
  };
};
