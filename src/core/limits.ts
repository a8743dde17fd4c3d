/** The limits of readers that no row of an endpoint bounds: bytes, milliseconds, connections. Each is tested at n and at n + 1. */
export const limits = {
  /** A file that is read whole; larger ones are streamed. */
  fileBytes: 512 * 1024 * 1024,
  /** Standard input that is read whole. */
  inputBytes: 64 * 1024 * 1024,
  /** An answer that is read whole. */
  replyBytes: 64 * 1024 * 1024,
  /** An answer that is read whole may take so many times the time to its next byte. */
  replyTimeouts: 10,
  /** A JSON or form body of a request to the mock server. */
  bodyBytes: 16 * 1024 * 1024,
  /** A request to a recorder or player of the mock server. */
  cassetteBytes: 256 * 1024 * 1024,
  /** A message between simulated members, and a request to one. */
  memberBytes: 64 * 1024 * 1024,
  /** The event that a webhook delivers. */
  eventBytes: 2 * 1024 * 1024,
  /** An upload to the mock server. */
  uploadBytes: 256 * 1024 * 1024,
  /** A request to the mock server that is still arriving is held in memory so far; the rest goes to a file. */
  arrivingBytes: 256 * 1024,
  /** Uploads to the mock server that are held in memory at once, after they have arrived; the next one waits. */
  uploadsAtOnceBytes: 256 * 1024 * 1024,
  /** Request line and headers. */
  urlBytes: 16 * 1024,
  headerBytes: 16 * 1024,
  /** Time a client has for the head of a request, and for the whole of it. */
  headMs: 15_000,
  requestMs: 60_000,
  /** Clients of one mock server at once. */
  connections: 2_000,
} as const;
