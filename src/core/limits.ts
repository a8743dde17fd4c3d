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
  /** Problems of one file that an error shows. A file of others may contain any number. */
  shownProblems: 1_000,
  /** If a service requests a longer pause, the request fails instead. */
  retryAfterMs: 10 * 60_000,
} as const;
