import { type ErrorExplanation, type Explanation, exitCodes } from '../../core/problem.ts';
import { clusterErrors } from './cluster-errors.ts';
import { programErrors } from './program-errors.ts';
import { guardExplanations } from './guards.ts';
import { serviceErrors } from './service-errors.ts';
import { exitExplanations } from './settings.ts';
import { signInErrors } from './sign-in-errors.ts';

/** The findings of cluster operations other than an upgrade. A refused operation has the name of its first finding as its code. */
const operationErrors: Readonly<Record<string, ErrorExplanation>> = {
  A_FAILURE_IS_SURVIVED: {
    category: 'unsafe',
    meaning: 'After the removal, the loss of one more member would stop all writes.',
    causes: ['One or two members remain after the removal.'],
    fix: 'Add another member first, or accept the finding.',
    example: 'opsctl kv member add n4 --peer-urls http://10.0.0.4:2380 --learner',
  },
  ADD_KEEPS_QUORUM: {
    category: 'unsafe',
    meaning:
      'The new member would raise the quorum above the number of healthy members, so the cluster would accept no writes until the member has started. No changes were made.',
    causes: ['Another member is down or unhealthy.', 'The cluster has one or two members.'],
    fix: 'Start the other members first, or add the member as a learner (3.4 and later).',
    example: 'opsctl kv member add n4 --peer-urls http://10.0.0.4:2380 --learner',
  },
  ALARM_IS_NOSPACE: {
    category: 'unsafe',
    meaning:
      'The cluster raises an alarm whose cause is not a lack of space, so freeing space does not repair it. No changes were made.',
    causes: ['A member raises the alarm CORRUPT.'],
    fix: 'Find the corrupt member and replace it.',
    example: 'opsctl kv alarm list',
  },
  BINARY_IS_RIGHT: {
    category: 'unsafe',
    meaning: 'Neither program of the member has the version of the other members. No changes were made.',
    causes: [
      'old_binary and new_binary name programs of other versions.',
      'opsctl cannot run the program to read its version.',
    ],
    fix: 'Install the version of the cluster on the host, and name it in the cluster file.',
    example: 'opsctl kv status --cluster cluster.yaml',
  },
  DATA_DIRECTORY_IS_KNOWN: {
    category: 'unsafe',
    meaning: 'opsctl does not know the data directory of the member. No changes were made.',
    causes: ['The cluster file has no data_dir for the member.'],
    fix: 'Add data_dir to the member in the cluster file.',
    example: 'opsctl kv check --cluster cluster.yaml',
  },
  DATA_IS_GIVEN_UP: {
    category: 'unsafe',
    meaning:
      'The member that would be replaced is healthy. It would lose its data and receive it again from the other members.',
    causes: ['The name of the member is wrong.', 'The member works again.'],
    fix: 'Check the name of the member. Accept the finding if you want to replace a healthy member.',
    example: 'opsctl kv status --cluster cluster.yaml',
  },
  DEFRAG_HAS_ROOM: {
    category: 'unsafe',
    meaning:
      'The disk of a member has too little free space for its new database file. No changes were made.',
    causes: ['The disk of the data directory is nearly full.'],
    fix: 'Free space on the disk of the data directory.',
    example: 'opsctl kv status --cluster cluster.yaml',
  },
  DEFRAG_IS_BOUNDED: {
    category: 'unsafe',
    meaning:
      'The defragmentation of a member may block it for longer than --max-blocked allows. No changes were made.',
    causes: ['The database is large.', 'The disk is slow.'],
    fix: 'Raise --max-blocked, or defragment in a maintenance window.',
    example: 'opsctl kv defrag --max-blocked 60s --cluster cluster.yaml',
  },
  DEFRAG_IS_SAFE: {
    category: 'unsafe',
    meaning: 'A defragmentation can lose or corrupt data in the version of a member. No changes were made.',
    causes: ['The version has a known defect in defragmentation.'],
    fix: 'Upgrade the members to the version that the message names.',
    example: 'opsctl kv plan --cluster cluster.yaml',
  },
  DEFRAG_KEEPS_QUORUM: {
    category: 'unsafe',
    meaning: 'While one member is defragmented, the other members are not a majority, so clients wait.',
    causes: ['The cluster has one or two members.', 'Another member is down.'],
    fix: 'Start the other members first, or accept the finding in a maintenance window.',
    example: 'opsctl kv status --cluster cluster.yaml',
  },
  JOIN_IS_POSSIBLE: {
    category: 'unsafe',
    meaning:
      'opsctl cannot start the new member with the settings with which it joins the cluster. No changes were made.',
    causes: ['Another tool starts the member, with flags that opsctl cannot change.'],
    fix: 'Add config_file to the member in the cluster file, or add the member with kv member add and start it by hand.',
    example: 'opsctl kv member add n3 --peer-urls http://10.0.0.4:2380 --learner',
  },
  LEARNER_HAS_STARTED: {
    category: 'unsafe',
    meaning: 'The learner has not started, so opsctl cannot promote it. No changes were made.',
    causes: ['The process of the member was never started.', 'The member cannot reach the cluster.'],
    fix: 'Start the member with --initial-cluster-state existing and an empty data directory.',
    example: 'opsctl kv member list',
  },
  LEARNER_IS_KEPT: {
    category: 'unsafe',
    meaning:
      'After its peer URL changes, the version of this member would list a learner as a voting member. No changes were made.',
    causes: ['Versions before 3.5.31 and 3.6.12 have this defect.'],
    fix: 'Remove the learner, and add it again with the new URL.',
    example: 'opsctl kv member add n4 --peer-urls http://10.0.0.4:2380 --learner',
  },
  LEARNERS_ARE_KNOWN: {
    category: 'unsafe',
    meaning: 'The version of the cluster does not support learners. No changes were made.',
    causes: ['A member runs a version before 3.4.'],
    fix: 'Run the command without --learner.',
    example: 'opsctl kv member add n4 --peer-urls http://10.0.0.4:2380',
  },
  MAJORITY_TAKES_REMOVAL: {
    category: 'unsafe',
    meaning: 'Too few members respond to agree to a removal. No changes were made.',
    causes: ['The cluster has lost its quorum.'],
    fix: 'Start the other members. If their data is lost, restore the cluster from a snapshot.',
    example: 'opsctl kv restore --cluster cluster.yaml',
  },
  MEMBERS_ANSWER: {
    category: 'unsafe',
    meaning: 'A member does not respond or has no leader. No changes were made.',
    causes: ['A member is stopped.', 'The members cannot reach one another.'],
    fix: 'Start the member, and wait until it follows a leader.',
    example: 'opsctl kv status --cluster cluster.yaml',
  },
  ONE_LEARNER: {
    category: 'unsafe',
    meaning: 'The cluster already has a learner, and it can have only one. No changes were made.',
    causes: ['An earlier member add has not been completed.'],
    fix: 'Promote or remove the other learner.',
    example: 'opsctl kv member list',
  },
  OTHERS_AGREE_ON_DATA: {
    category: 'unsafe',
    meaning:
      'Another member returns other data than the majority, so it is unknown which data is correct. No changes were made.',
    causes: ['The database of a member was copied, restored or damaged.', 'A member applied writes twice.'],
    fix: 'Compare the members, and replace the one with the wrong data first.',
    example: 'opsctl kv endpoint hashkv',
  },
  OTHERS_ARE_HEALTHY: {
    category: 'unsafe',
    meaning:
      'Another member is not healthy, so two members would be down during the replacement. No changes were made.',
    causes: ['A member is stopped.', 'A member raises an alarm.'],
    fix: 'Repair the other member first.',
    example: 'opsctl kv status --cluster cluster.yaml',
  },
  OTHERS_ARE_MAJORITY: {
    category: 'unsafe',
    meaning:
      'The other members are not a majority, so the cluster cannot remove the member. No changes were made.',
    causes: ['The cluster has one or two members.', 'Other members are down.'],
    fix: 'Start the other members. If their data is lost, restore the cluster from a snapshot.',
    example: 'opsctl kv restore --cluster cluster.yaml',
  },
  OTHERS_ARE_NOT_CORRUPT: {
    category: 'unsafe',
    meaning:
      'Another member raises the alarm CORRUPT, so it is unknown which data is correct. No changes were made.',
    causes: ['The data of two members differ.'],
    fix: 'Compare the members, and replace the one with the wrong data first.',
    example: 'opsctl kv alarm list',
  },
  PEER_URL_IS_KNOWN: {
    category: 'unsafe',
    meaning: 'opsctl does not know the peer URL of the member. No changes were made.',
    causes: ['The cluster file has no peer_url for the member, and the cluster does not list the member.'],
    fix: 'Add peer_url to the member in the cluster file.',
    example: 'opsctl kv member list',
  },
  PEER_URL_IS_NEW: {
    category: 'unsafe',
    meaning: 'Another member already has the peer URL. No changes were made.',
    causes: ['The URL belongs to an existing member.', 'The member was already added.'],
    fix: 'Use the URL of the new member.',
    example: 'opsctl kv member list',
  },
  PROMOTION_IS_KEPT: {
    category: 'unsafe',
    meaning: 'Version 3.6 does not keep the promotion of a learner that an older 3.5 release made.',
    causes: ['A member runs a version with this defect.'],
    fix: 'Before the upgrade to 3.6, upgrade every member to the newest 3.5 and restart it once.',
    example: 'opsctl kv plan --cluster cluster.yaml',
  },
  REMOVE_KEEPS_QUORUM: {
    category: 'unsafe',
    meaning:
      'Without the member, too few of the remaining members would be healthy, and the cluster would accept no writes. No changes were made.',
    causes: ['Other members are down or unhealthy.', 'The member is the last voting member.'],
    fix: 'Start the other members first.',
    example: 'opsctl kv status --cluster cluster.yaml',
  },
  REVISION_EXISTS: {
    category: 'unsafe',
    meaning: 'The revision of a compaction does not exist yet. No changes were made.',
    causes: ['The number is wrong.', 'The number belongs to another cluster.'],
    fix: 'Use an earlier revision, or --keep-last to count back from the newest one.',
    example: 'opsctl kv compact --keep-last 1000 --cluster cluster.yaml',
  },
  STORE_ANSWERS: {
    category: 'unsafe',
    meaning: 'No majority follows a leader, so the cluster cannot apply changes. No changes were made.',
    causes: ['Members are stopped.', 'The members cannot reach one another.'],
    fix: 'Start the members, and wait for a leader.',
    example: 'opsctl kv status --cluster cluster.yaml',
  },
};

/** One row for each error code, in the order of the codes. */
export const errorExplanations: Readonly<Record<string, ErrorExplanation>> = Object.fromEntries(
  Object.entries({
    ...signInErrors,
    ...serviceErrors,
    ...clusterErrors,
    ...operationErrors,
    ...programErrors,
  }).sort(([a], [b]) => (a < b ? -1 : 1)),
);

const list = (rows: readonly string[]): string => rows.map((row) => `- ${row}`).join('\n');
const body = ({ causes, fix, example }: Explanation): string =>
  [`Possible causes:`, list(causes), `Fix: ${fix}`, ['```text', example, '```'].join('\n')].join('\n\n');
const section = (title: string, ...paragraphs: readonly string[]): string =>
  [`### ${title}`, ...paragraphs].join('\n\n');

/** Returns `docs/reference/errors.md`: the pages of `opsctl explain` for exit codes, preflight checks and error codes. */
export const errorsMarkdown = (): string =>
  `${[
    '# Errors',
    'This page is generated. `opsctl explain NAME` prints one entry. [Exit codes](exit-codes.md) describes errors as JSON.',
    '## Exit codes',
    ...Object.entries(exitExplanations).map(([category, row]) => {
      const { code, meaning } = exitCodes[category as keyof typeof exitCodes];
      return section(
        `Exit code ${code}`,
        `${meaning.charAt(0).toUpperCase()}${meaning.slice(1)}.`,
        body(row),
      );
    }),
    '## Preflight checks',
    ...Object.entries(guardExplanations).map(([id, row]) => section(id, row.meaning, row.reason, body(row))),
    '## Error codes',
    ...Object.entries(errorExplanations).map(([code, row]) =>
      section(code, row.meaning, `Exit code ${exitCodes[row.category].code} (${row.category}).`, body(row)),
    ),
  ].join('\n\n')}\n`;
