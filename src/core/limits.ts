import { AppError, cutText } from './problem.ts';

/** The limits of readers that no row of an endpoint bounds: bytes, depth, pages, hops, milliseconds, connections. Each is tested at n and at n + 1. */
export const limits = {
  /** A file that is read whole; larger ones are streamed. */
  fileBytes: 512 * 1024 * 1024,
  /** Standard input that is read whole. */
  inputBytes: 64 * 1024 * 1024,
  /** A response that is read completely. */
  replyBytes: 64 * 1024 * 1024,
  /** The total time for such a response, as a multiple of the time to its next byte. */
  replyTimeouts: 10,
  /** No token, password or client secret of a known service is longer. A longer value is a wrong file. */
  secretBytes: 8192,
  /** One row of a list; the list may have any number of them. */
  rowBytes: 64 * 1024 * 1024,
  /** The data in a response in addition to the requested list. */
  besideRowsBytes: 64 * 1024 * 1024,
  /** Status line and headers of a response. */
  replyHeadBytes: 64 * 1024,
  /**
   * The line of a size or a trailer in a chunked response. Without a limit, a server could fill the memory
   * with one line.
   */
  chunkLineBytes: 16 * 1024,
  /** What a program prints, when all of it is read. */
  programBytes: 64 * 1024 * 1024,
  /** What a command prints when a program asked for it as a tool, and its time. */
  toolReplyBytes: 4 * 1024 * 1024,
  toolMs: 15 * 60_000,
  /** A larger trace cannot come from one command. */
  traceBytes: 64 * 1024 * 1024,
  /** A crash report holds places in the program and no message; a larger one is not ours. */
  crashReportBytes: 64 * 1024,
  /** A request of git or docker for a credential is a few lines. */
  credentialRequestBytes: 64 * 1024,
  /** A security event that an authorization server delivers. */
  securityEventBytes: 64 * 1024,
  /** Deeper than any message of the store, whose transactions may hold transactions. */
  messageDepth: 100,
  /** As the gateway of the real store has it. */
  gatewayDepth: 1_000,
  /** Enough for any file written by hand; a file of aliases of aliases would fill the memory. */
  yamlAliases: 1_000,
  /**
   * YAML that this program did not write. A separate reader parses the YAML that it wrote, of any size. Twice
   * this size needs 1.5 GB of memory.
   */
  yamlBytes: 16 * 1024 * 1024,
  /** Lines, keys and items of such YAML: up to a kilobyte of memory each. */
  yamlParts: 1_500_000,
  /** Nested brackets of YAML and JSON files, and `?` keys. The YAML parser needs minutes for a few hundred levels. */
  yamlDepth: 200,
  /** Scripts that start each other before the server. A script may start itself. */
  scriptDepth: 8,
  /** Redirects of a download. Services store contents in other places and redirect to them. */
  redirects: 5,
  /** The address that a browser comes back with after a sign-in. */
  callbackBytes: 8192,
  /** The manifest that is stored with a snapshot. */
  manifestBytes: 1024 * 1024,
  /** A file of versions of the store. */
  versionFileBytes: 1024 * 1024,
  /** The response of a monitoring service to a query. */
  metricReplyBytes: 1024 * 1024,
  /** What the check of a stopped member's data prints. */
  checkOutputBytes: 64 * 1024,
  /** What a program prints about its version. */
  versionTextBytes: 64 * 1024,
  /** The journal of a fleet; each cluster has its own journal. */
  fleetJournalBytes: 16 * 1024 * 1024,
  /** A form that is sent to the authorization server of the mock server. */
  formBytes: 64 * 1024,
  /** A JSON or form body of a request to the mock server. */
  bodyBytes: 16 * 1024 * 1024,
  /** A request to a recorder or player of the mock server, and the file it keeps. */
  cassetteBytes: 256 * 1024 * 1024,
  /** A message between simulated members; a request to one is bounded by its own setting for requests. */
  memberBytes: 64 * 1024 * 1024,
  /** The event that a webhook delivers. */
  eventBytes: 2 * 1024 * 1024,
  /** An upload to the mock server. */
  uploadBytes: 256 * 1024 * 1024,
  /** A request to the mock server that is still arriving is held in memory so far; the rest goes to a file. */
  arrivingBytes: 256 * 1024,
  /** Received uploads that the mock server keeps in memory at the same time. The next upload waits. */
  uploadsAtOnceBytes: 256 * 1024 * 1024,
  /** Request line and headers. */
  urlBytes: 16 * 1024,
  headerBytes: 16 * 1024,
  /** Time a client has for the head of a request, and for the whole of it. */
  headMs: 15_000,
  requestMs: 60_000,
  /** Concurrent clients of one mock server. */
  connections: 2_000,
  /** The limit of file systems for one name, minus the suffix of a temporary file. */
  fileNameBytes: 200,
  /** Consecutive pages without a row. A filter leaves some pages empty, but not this many. */
  emptyPages: 1_000,
  /**
   * Pages of one list: a million rows at the smallest page size. A mark of each page is kept to detect
   * repetitions.
   */
  pages: 1_000_000,
  /** Rows that a command holds or searches, about 2 GB. Commands that print row by row have no limit. */
  heldRows: 1_000_000,
  /** Items of one list in a row of a file. A row with more items has a wrong quote or a wrong separator. */
  listItems: 10_000,
  /** Problems of one file that an error shows. A file of others may contain any number. */
  shownProblems: 1_000,
  /** If a service requests a longer pause, the request fails instead. */
  retryAfterMs: 10 * 60_000,
} as const;

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

/** When records were read, and how long that took. */
export type Reading = { readonly madeAt: number; readonly tookMs: number };
const MOST_AGE_MS = 5000;
/**
 * Other users work during a long run, so records that were read long ago are read again. A reading that needs long may
 * be older: all readings together need at most a tenth of the time of the run.
 */
export const isOutdated = ({ madeAt, tookMs }: Reading, now: number): boolean =>
  now - madeAt > Math.max(MOST_AGE_MS, 10 * tookMs);
