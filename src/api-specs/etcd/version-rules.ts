import { compareVersions } from './versions.ts';

/** What is known of single patch versions, with where it is said. As of 2026-08. An upgrade guard reads it. */
export type VersionRule = {
  /** First and last patch that this is true for. */
  readonly from: string;
  readonly through: string;
  /** arrive: must not be started · leave: must not be upgraded from, because what it left behind harms the next version. */
  readonly on: 'arrive' | 'leave';
  readonly level: 'fail' | 'warn';
  readonly reason: string;
  /** What to take instead. */
  readonly instead: string;
  readonly source: string;
};

const issue = (number: number): string => `https://github.com/etcd-io/etcd/issues/${number}`;

export const versionRules: readonly VersionRule[] = [
  {
    from: '3.3.21',
    through: '3.3.21',
    on: 'arrive',
    level: 'fail',
    reason: 'does not start again once a part of its log was purged (walpb: crc mismatch)',
    instead: '3.3.22 or later',
    source: issue(11918),
  },
  {
    from: '3.3.0',
    through: '3.3.18',
    on: 'arrive',
    level: 'warn',
    reason: 'a defragmentation can damage the data',
    instead: '3.3.23 or later',
    source: issue(11613),
  },
  {
    from: '3.4.8',
    through: '3.4.8',
    on: 'arrive',
    level: 'fail',
    reason: 'does not start again once a part of its log was purged (walpb: crc mismatch)',
    instead: '3.4.9 or later',
    source: issue(11918),
  },
  {
    from: '3.4.11',
    through: '3.4.11',
    on: 'arrive',
    level: 'fail',
    reason: 'panics when a write is slow',
    instead: '3.4.12 or later',
    source: issue(12197),
  },
  {
    from: '3.4.0',
    through: '3.4.3',
    on: 'arrive',
    level: 'warn',
    reason: 'a defragmentation can damage the data',
    instead: '3.4.38 or later',
    source: issue(11613),
  },
  {
    from: '3.5.0',
    through: '3.5.2',
    on: 'arrive',
    level: 'fail',
    reason: 'members can hold different data after a crash under load; it was withdrawn for production',
    instead: '3.5.26 or later',
    source: issue(13766),
  },
  {
    from: '3.5.3',
    through: '3.5.3',
    on: 'arrive',
    level: 'fail',
    reason: 'panics at its start with authentication on',
    instead: '3.5.26 or later',
    source: issue(13946),
  },
  {
    from: '3.5.4',
    through: '3.5.5',
    on: 'arrive',
    level: 'warn',
    reason: 'a crash in a defragmentation can make revisions differ',
    instead: '3.5.26 or later',
    source: issue(14733),
  },
  {
    from: '3.5.0',
    through: '3.5.25',
    on: 'leave',
    level: 'fail',
    reason: 'members that were removed can come back on 3.6 and count for the quorum',
    instead: 'upgrade every member to 3.5.32 or later first',
    source: issue(20967),
  },
];

/** The rules that hold for this version. Pure. */
export const rulesFor = (version: string, on: VersionRule['on']): readonly VersionRule[] =>
  versionRules.filter(
    (rule) =>
      rule.on === on &&
      compareVersions(version, rule.from) >= 0 &&
      compareVersions(version, rule.through) <= 0,
  );
