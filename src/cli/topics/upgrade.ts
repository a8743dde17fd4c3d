import { type Page, heading, prose, shell } from '../../core/page.ts';

export const page: Page = {
  title: 'opsctl help upgrade',
  summary: 'Runbook of a cluster upgrade: before, during, when it stops, after',
  blocks: [
    heading('Before'),
    prose('Set the cluster file once, or give --cluster FILE to each command.'),
    shell('A simulated cluster to try this page on', 'opsctl mock kv start --dir ./rehearsal'),
    shell(undefined, 'export OPSCTL_KV_CLUSTER=./rehearsal/cluster.yaml'),
    shell('Is there a reason not to upgrade? Nothing is changed', 'opsctl kv check'),
    shell('What would be done, step by step', 'opsctl kv plan --out plan.json'),
    shell('The same plan on a private copy, the day before', 'opsctl kv rehearse'),
    shell('Which patches to refuse, to leave and to arrive at, and why', 'opsctl kv versions'),
    prose(
      'From 3.5 to 3.6: at least 3.5.26 on every member (3.5.32 is recommended), no v2 data, old names of settings until every member runs 3.6; then opsctl kv config migrate FILE --to 3.6.',
    ),
    prose('`opsctl explain GUARD` says why a check warns or fails, and what to do.'),
    heading('During'),
    shell('Carry out exactly the plan that was reviewed', 'opsctl kv upgrade --plan plan.json --yes'),
    shell(
      'The same, stopping before the last member: until then everything can go back',
      'opsctl kv upgrade --hold-last',
    ),
    shell('At any time, from another terminal', 'opsctl kv status'),
    prose(
      'Ctrl-C finishes the member in progress and stops. Each member gets a verified snapshot first; a member whose new binary fails goes back to the old one. The leader is last.',
    ),
    heading('When it stops'),
    shell('Exit code 8: look, fix the cause, go on', 'opsctl kv resume'),
    shell('Exit code 8, and you want the old version back', 'opsctl kv rollback'),
    shell('All members run 3.6 and you want 3.5 back', 'opsctl kv downgrade'),
    shell('All members are upgraded and the new version is bad', 'opsctl kv restore'),
    prose(
      'A downgrade goes from 3.6 to 3.5 and nowhere else. Every member has to answer, no 3.6 member can be added until it is over, and settings that only 3.6 knows have to go. Until the last member runs 3.5, opsctl kv rollback goes back to 3.6.',
    ),
    prose('Exit code 10: a guard refused and nothing was changed. Exit code 12: the run was rolled back.'),
    heading('After'),
    shell('All members on the new version', 'opsctl kv status'),
    shell('Another configuration or patch later, member by member', 'opsctl kv restart'),
    shell('One page for the change record', 'opsctl kv report --out upgrade.html'),
    shell('The simulated cluster is no longer needed', 'opsctl mock kv stop --dir ./rehearsal'),
  ],
};
