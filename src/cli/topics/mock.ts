import { type Page, heading, prose, shell } from '../../core/page.ts';

export const page: Page = {
  title: 'opsctl help mock',
  summary: 'The embedded services and how to test against them',
  blocks: [
    prose(
      'The mock server keeps the rules of the tracker, the label service and the authorization server: limits, states, errors and rate limits. Commands use it when no real service is configured, and say so. A token or a profile without a URL refuses to use it.',
    ),
    heading('Examples'),
    shell('Run a script against a server of its own', 'opsctl mock run -- opsctl tracker labels list'),
    shell('Keep one running', 'opsctl mock serve'),
    shell('Start again from the example data', 'opsctl mock reset --yes'),
    shell('A simulated cluster for kv commands', 'opsctl mock kv start --dir ./rehearsal'),
    shell('Stop it', 'opsctl mock kv stop --dir ./rehearsal'),
    heading('In tests'),
    prose(
      '`mock run` sets OPSCTL_TRACKER_URL, OPSCTL_TRACKER_TOKEN, OPSCTL_LABELS_URL, OPSCTL_AUTH_URL and OPSCTL_MOCK_URL for its command and ends with its exit code. `mock faults add` makes a server slow or failing, `mock clock advance` moves its time, `mock requests` shows what it was asked.',
    ),
  ],
};
