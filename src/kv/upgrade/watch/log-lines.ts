import { cutText } from '../../../core/problem.ts';
import { memberOf, type Run } from '../run.ts';

/**
 * The meaning of log lines of a member during an upgrade. spec/store#states and spec/store#measured-upgrade.
 * The first match counts.
 */
type Meaning = {
  readonly text: RegExp;
  readonly expected: boolean;
  readonly meaning: string;
  /** The fix, if a different program of that version would not help. */
  readonly cure?: string;
};
const meanings: readonly Meaning[] = [
  // Always unexpected, regardless of the rest of the line.
  {
    text: /cannot be downgraded|invalid downgrade;/,
    expected: false,
    meaning: 'this version is older than the cluster: it will not start again',
  },
  {
    text: /detected disallowed v2 WAL/,
    expected: false,
    meaning: 'the log of the member contains v2 requests, and 3.6 does not start with them',
    // Up to 3.4 a server logs this line for each /health request, so a cluster that was upgraded to 3.5
    // recently contains such lines without a v2 client.
    cure: 'restart every member of 3.5 with --snapshot-count=1, write a few keys, and restart it as before: its log then contains no v2 request, not even from a health check of 3.4',
  },
  {
    text: /detected disallowed|illegal v2store content/,
    expected: false,
    meaning: 'the data directory contains v2 data, and 3.6 does not start with it',
  },
  {
    text: /panic|fatal error|failed to recover v3 backend/i,
    expected: false,
    meaning: 'the server panicked',
  },
  {
    text: /cannot unmarshal|error verifying flags|unsupported compaction mode|flag provided but not defined/,
    expected: false,
    meaning: 'this version does not understand its configuration',
  },
  {
    text: /too many learner members in cluster|removed all voters|unmarshal should never fail|ID exists/,
    expected: false,
    meaning: 'the membership records are wrong',
  },
  {
    text: /Cannot downgrade from/,
    expected: false,
    meaning: 'a member was replaced before the cluster was ready to downgrade',
  },
  {
    text: /shadowed by corresponding command-line flag|cannot set --|unrecognized feature gate|failed to verify flags/,
    expected: false,
    meaning: 'this version does not understand its configuration',
  },
  {
    text: /tocommit\(|crc mismatch|has already been bootstrapped/,
    expected: false,
    meaning: 'the data directory belongs to another member',
  },
  {
    text: /address already in use/,
    expected: false,
    meaning: 'another process has its port',
    cure: 'find the process that uses the port: ss -ltnp',
  },
  {
    text: /no space left on device|database space exceeded|alarm.*NOSPACE/i,
    expected: false,
    meaning: 'no space',
    cure: 'free space on the disk of the data directory and of the log',
  },
  {
    text: /permission denied|read-only file system/,
    expected: false,
    meaning: 'the data directory is not writable',
    cure: 'compare the owner and the mode of the data directory with the user of the process: ls -ldn DIRECTORY',
  },
  {
    text: /CORRUPT|hash.*mismatch|data inconsistency/,
    expected: false,
    meaning: 'the members have different data',
  },
  {
    text: /cluster ID mismatch|member has been permanently removed|the member has been permanently removed/,
    expected: false,
    meaning: 'not a member of this cluster',
  },
  {
    text: /(?<!re)starting member .*in cluster/,
    expected: false,
    meaning: 'the member started without its data',
  },
  { text: /tls: bad certificate|x509: /, expected: false, meaning: 'a certificate is refused' },
  { text: /clock difference|clock drift/, expected: false, meaning: 'clocks differ' },
  {
    text: /apply.*took too long|request .*took too long|slow fdatasync|server is likely overloaded|"msg":"request stats"|\trequest stats\t|failed to send out heartbeat/,
    expected: true,
    meaning: 'the machine is slow',
  },
  // Expected while a member is replaced.
  {
    text: /lost the TCP streaming connection|lost TCP streaming|connection refused|became inactive|stream error|EOF|failed to dial|failed to reach|prober detected unhealthy|unexpected EOF|dropped internal Raft message|connection reset by peer|unhealthy status|failed to find (remote peer|member)|failed to (read|write) \S+ on stream|raft: stopped|failed to process raft message \(context canceled\)|stopping insecure grpc server due to error|use of closed network connection/,
    expected: true,
    meaning: 'a member is away',
  },
  {
    text: /became active|established a TCP streaming|peer connected|set message encoder|started streaming|added peer|started peer|starting peer|stopped peer|stopping peer|closed a TCP streaming|closed an existing TCP/,
    expected: true,
    meaning: 'a connection between members',
  },
  {
    text: /leadership transfer|elected leader|lost leader|changed leader|became (leader|follower|candidate)|received MsgVoteResp|is starting a new election|election|raft\.node|MsgTimeoutNow|MsgVote|MsgAppResp|cast MsgVote|sent MsgVote|no leader|ignored a (Msg|message)|\[term: ?\d+\]/,
    expected: true,
    meaning: 'an election',
  },
  {
    text: /invalid auth token/,
    expected: true,
    meaning: 'a token became invalid when the previous process exited',
  },
  {
    text: /not up-to-date|has a higher version|higher-version|leader found higher-versioned/,
    expected: true,
    meaning: 'a member has a higher version',
  },
  {
    text: /updat(ed|ing) (the )?cluster version|cluster version (is updated|differs from storage version)|updated storage version|ready to downgrade|cluster has been downgraded|downgrade is enabled|enabled capabilities|set the initial cluster version|set initial cluster version/,
    expected: true,
    meaning: "the cluster's version",
  },
  {
    text: /restarting (local )?member|added member from store|Detected member only in v3store|Running http and grpc server on single port|unrecognized environment variable|deprecated|simple token is not cryptographically signed|grpc server on single port|already initialized as member|starting server|published|ready to serve|serving (client|insecure|peer)|etcd Version|Git SHA|Go (Version|OS)|starting .*etcd|listening for (peers|client)|terminated|skipped leadership transfer|stopping|closed|closing|shutting down|recovered|restored|opened backend|compact|snapshot|saved|sent (message|database)|\/health OK|purged|purge/i,
    expected: true,
    meaning: 'the life of a server',
  },
];
/** Real servers log tokens, including valid tokens. Pure. */
export const withoutTokens = (line: string): string =>
  line.replace(/(simple_token:|invalid auth token: )[^\s>"]+/g, '$1***');
export type LineClass = { readonly expected: boolean; readonly meaning?: string };
/** The three forms: capnslog, JSON, and `log-format: console` of 3.6. */
const severity =
  /^\S* ?\S* [CEW] \||"level":"(error|fatal|panic|warn)"|^\S+ \S+ [CEW] |^\S+\t(error|fatal|panic|warn)\t/;
/**
 * Unknown lines below the warning level are ignored; unknown warnings and errors are reported. Undefined: not
 * reported. Pure.
 */
export const classify = (line: string): LineClass | undefined => {
  const found = meanings.find(({ text }) => text.test(line));
  if (found !== undefined) return { expected: found.expected, meaning: found.meaning };
  return severity.test(line) ? { expected: false } : undefined;
};
export const killedText = 'the process may have been killed';
/** Returns whether the failure reason states that the process logged no error. Pure. */
export const isKilled = (reason: string): boolean => reason.includes(killedText);
/** The fix for the known cause in a failure reason, based on its quoted log line. Pure. */
export const hintsForReason = (reason: string): readonly string[] => {
  const cure = meanings.find(({ text }) => text.test(reason))?.cure;
  return cure === undefined ? [] : [cure];
};

const tailLines = 400;
const everyMs = 1000;
/** Without the mark of the cut. */
const mostCharacters = 499;
export type LogWatch = { finish(): Promise<void> };
/** The lines of a member's log after the last line of the previous read. Pure. */
export const newLines = (before: readonly string[], now: readonly string[]): readonly string[] => {
  const last = before.at(-1);
  if (last === undefined) return now;
  const at = now.lastIndexOf(last);
  return at < 0 ? now : now.slice(at + 1);
};
/** Lines that differ only in times, numbers and IDs count as repetitions of one line. Pure. */
export const patternOf = (line: string): string =>
  line.replace(/"[0-9a-f]{8,}"|\b[0-9a-f]{12,16}\b/gi, '#').replace(/\d+(\.\d+)?(ns|µs|ms|s|m)?/g, '#');
type Repeated = { count: number; emitted: number; line: string };
/** Reports the first of equal lines, then at each power of ten, and the total at the end. */
export const collapseLines = (run: Pick<Run, 'emit'>) => {
  const seen = new Map<string, Repeated>();
  const emit = (member: string, one: Repeated): void => {
    const found = classify(one.line);
    one.emitted = one.count;
    const line = cutText(withoutTokens(one.line), mostCharacters);
    const times = one.count === 1 ? '' : ` (×${one.count.toLocaleString('en-US')})`;
    if (found !== undefined) run.emit({ event: 'log-line', member, line: `${line}${times}`, ...found });
  };
  return {
    add: (member: string, line: string): void => {
      if (classify(line) === undefined) return;
      const key = `${member} ${patternOf(line)}`;
      const one = seen.get(key) ?? { count: 0, emitted: 0, line };
      seen.set(key, one);
      Object.assign(one, { count: one.count + 1, line });
      if (Number.isInteger(Math.log10(one.count))) emit(member, one);
    },
    finish: (): void => {
      for (const [key, one] of seen) if (one.count > one.emitted) emit(key.split(' ')[0] as string, one);
    },
  };
};
/** Watches the members' logs during a run and reports the relevant new lines. */
export const watchLogs = async (run: Run): Promise<LogWatch> => {
  const names = run.plan.observation.members.map(({ name }) => name);
  const seen = new Map<string, readonly string[]>();
  const over = new AbortController();
  const lines = collapseLines(run);
  /** The first lines that can be read may be older than the run. */
  const fresh = async (name: string): Promise<readonly string[]> => {
    const tail = await run.driver.logTail(memberOf(run, name), tailLines).catch(() => undefined);
    if (tail === undefined) return [];
    const before = seen.get(name);
    if (before === undefined || tail.length > 0) seen.set(name, tail.slice(-1));
    return before === undefined ? [] : newLines(before, tail);
  };
  const look = async (): Promise<void> => {
    for (const name of names) for (const line of await fresh(name)) lines.add(name, line);
  };
  await look();
  const watching = (async () => {
    while (!over.signal.aborted) {
      await run.host.sleep(everyMs, over.signal).catch(() => {});
      if (!over.signal.aborted) await look().catch(() => {});
    }
  })();
  return {
    finish: async () => {
      over.abort();
      await watching;
      await look().catch(() => {});
      lines.finish();
    },
  };
};
