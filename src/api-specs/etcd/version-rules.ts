import { compareVersions, minorOf, type Minor } from './versions.ts';

/** What is known of single patch versions, with where it is said. */
export type VersionRule = {
  /** First and last patch that this is true for. */
  readonly from: string;
  readonly through: string;
  /** arrive: must not be started · leave: must not be upgraded from, because what it left behind harms the next version. */
  readonly on: 'arrive' | 'leave';
  readonly level: 'fail' | 'warn';
  /** Nobody may accept it: upstream says that there is no safe way around it. */
  readonly is_final?: boolean;
  readonly reason: string;
  /** What to take instead. */
  readonly instead: string;
  readonly source: string;
};

export type MinorFacts = {
  readonly minor: Minor;
  /** Its newest patch on the day of the data. */
  readonly latest: string;
  /** It gets no more patches. */
  readonly is_ended?: boolean;
  readonly ended_on?: string;
};

/** Built in, or read from a file of the operator's (version-file.ts). Versions age: the table says of which day it is. */
export type VersionTable = {
  readonly data_of: string;
  readonly minors: readonly MinorFacts[];
  readonly rules: readonly VersionRule[];
};

const issue = (number: number): string => `https://github.com/etcd-io/etcd/issues/${number}`;
const changes = (minor: Minor): string =>
  `https://github.com/etcd-io/etcd/blob/main/CHANGELOG/CHANGELOG-${minor}.md`;
const guide = (minor: Minor): string =>
  `https://etcd.io/docs/v${minor}/upgrades/upgrade_${minor.replace('.', '_')}/`;

const minors: readonly MinorFacts[] = [
  { minor: '3.2', latest: '3.2.32', is_ended: true },
  { minor: '3.3', latest: '3.3.27', is_ended: true },
  { minor: '3.4', latest: '3.4.45', is_ended: true, ended_on: '2026-06-01' },
  { minor: '3.5', latest: '3.5.33' },
  { minor: '3.6', latest: '3.6.14' },
  { minor: '3.7', latest: '3.7.1' },
];

type Short = readonly [
  from: string,
  through: string,
  level: VersionRule['level'],
  reason: string,
  instead: string,
  source: string,
];
const crcMismatch = 'does not start again once a part of its log was purged (walpb: crc mismatch)';
const defragDamage = 'a defragmentation can damage the data';
const applyDamage = 'a snapshot that arrives during a defragmentation can damage the data';

const arriving: readonly Short[] = [
  ['3.3.21', '3.3.21', 'fail', crcMismatch, '3.3.22 or later', issue(11918)],
  ['3.3.0', '3.3.18', 'warn', defragDamage, '3.3.23 or later', issue(11613)],
  ['3.3.0', '3.3.22', 'warn', 'has known security faults', '3.3.23 or later', changes('3.3')],
  ['3.4.8', '3.4.8', 'fail', crcMismatch, '3.4.9 or later', issue(11918)],
  ['3.4.11', '3.4.11', 'fail', 'panics when a write is slow', '3.4.12 or later', issue(12197)],
  ['3.4.0', '3.4.3', 'warn', defragDamage, '3.4.38 or later', issue(11613)],
  ['3.4.0', '3.4.37', 'warn', applyDamage, '3.4.38 or later', issue(20659)],
  [
    '3.5.0',
    '3.5.2',
    'fail',
    'members can hold different data after a crash under load; it was withdrawn for production',
    '3.5.26 or later',
    issue(13766),
  ],
  ['3.5.3', '3.5.3', 'fail', 'panics at its start with authentication on', '3.5.26 or later', issue(13946)],
  [
    '3.5.4',
    '3.5.5',
    'warn',
    'a crash in a defragmentation can make revisions differ',
    '3.5.26 or later',
    issue(14733),
  ],
  ['3.5.6', '3.5.22', 'warn', applyDamage, '3.5.26 or later', issue(20653)],
  [
    '3.5.23',
    '3.5.25',
    'warn',
    'keeps records of removed members, which 3.6 would take for members',
    '3.5.26 or later',
    issue(20967),
  ],
  [
    '3.6.0',
    '3.6.3',
    'fail',
    'can fail at its start when its log holds the promotion of a learner',
    '3.6.9 or later',
    issue(20387),
  ],
  ['3.6.4', '3.6.4', 'fail', applyDamage, '3.6.9 or later', issue(20650)],
  ['3.6.5', '3.6.8', 'warn', 'uses much more memory with big data', '3.6.9 or later', issue(21355)],
  ['3.7.0', '3.7.0', 'warn', 'has known security faults', '3.7.1 or later', changes('3.7')],
];

const leaving: readonly Short[] = [
  ['3.3.0', '3.3.21', 'warn', crcMismatch, 'upgrade every member to 3.3.22 or later first', issue(11918)],
  [
    '3.4.0',
    '3.4.21',
    'warn',
    'with authentication on, members can hold different data after a snapshot',
    'upgrade every member to 3.4.22 or later first',
    issue(14649),
  ],
  [
    '3.5.26',
    '3.5.31',
    'warn',
    'its check for v2 data does not look into the log (WAL), and 3.6 does not start with v2 data there',
    'upgrade every member to 3.5.32 or later first',
    guide('3.6'),
  ],
  [
    '3.6.0',
    '3.6.10',
    'fail',
    'the guide wants 3.6.11 or later on every member before 3.7',
    'upgrade every member to 3.6.11 or later first',
    guide('3.7'),
  ],
];

const rulesOf = (on: VersionRule['on'], rows: readonly Short[]): VersionRule[] =>
  rows.map(([from, through, level, reason, instead, source]) => ({
    from,
    through,
    on,
    level,
    reason,
    instead,
    source,
  }));

export const versionTable: VersionTable = {
  data_of: '2026-08-31',
  minors,
  rules: [
    ...rulesOf('arrive', arriving),
    ...rulesOf('leave', leaving),
    {
      from: '3.5.0',
      through: '3.5.25',
      on: 'leave',
      level: 'fail',
      is_final: true,
      reason: 'members that were removed can come back on 3.6 and count for the quorum',
      instead: 'upgrade every member to 3.5.32 or later first',
      source: issue(20967),
    },
  ],
};

/** The rules that hold for this version. Pure. */
export const rulesFor = (
  { rules }: VersionTable,
  version: string,
  on: VersionRule['on'],
): readonly VersionRule[] =>
  rules.filter(
    (rule) =>
      rule.on === on &&
      compareVersions(version, rule.from) >= 0 &&
      compareVersions(version, rule.through) <= 0,
  );

/** Newer than the newest that the table knows: what is wrong with it, if anything, it cannot say. */
export const isUnknownTo = ({ minors: known }: VersionTable, version: string): boolean => {
  const facts = known.find(({ minor }) => minor === minorOf(version));
  return facts === undefined || compareVersions(version, facts.latest) > 0;
};

const following = (version: string): string =>
  version.replace(/(\d+)$/, (patch) => String(Number(patch) + 1));
/** The first patch without anything against it, of this level or a worse one, from the minor's first patch on. Pure. */
export const leastOf = (
  table: VersionTable,
  minor: Minor,
  on: VersionRule['on'],
  level: VersionRule['level'],
): string => {
  const counts = (rule: VersionRule): boolean => level === 'warn' || rule.level === 'fail';
  let least = `${minor}.0`;
  for (;;) {
    const against = rulesFor(table, least, on).filter(counts);
    if (against.length === 0) return least;
    least = following(
      against
        .map(({ through }) => through)
        .toSorted(compareVersions)
        .at(-1) as string,
    );
  }
};
