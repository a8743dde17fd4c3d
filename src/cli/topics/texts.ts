import { keys } from '../../config/keys.ts';
import { exitCodes } from '../../core/exit.ts';
import { heading, type Page, prose, shell, terms } from '../../core/page.ts';
import { flagTerms } from '../flag-terms.ts';
import { globalFlags } from '../options.ts';

export const page: Page = {
  title: 'opsctl help output',
  summary: 'Formats, columns and filters; what goes to standard output',
  blocks: [
    prose(
      'Standard output holds the answer and nothing else. Messages, progress, warnings and errors go to standard error. Without -o the answer is a table on a terminal, and JSON in a pipe or a file.',
    ),
    heading('Formats'),
    terms([
      ['-o table', 'Columns that fit the terminal. Ids and names are never cut; long text is.'],
      ['-o json', 'One JSON value: an array of rows, or an object.'],
      ['-o ndjson', 'One JSON object a line, written as the rows come.'],
      ['-o yaml', 'The same data as YAML.'],
      ['-o csv', 'RFC 4180, with a header line unless --no-header is given.'],
      ['-o name', 'The id of each row, one a line, for xargs and loops.'],
    ]),
    heading('Choosing and filtering'),
    terms([
      ['--columns a,b.c', 'Only these fields; dots reach inside. An unknown column is an error.'],
      ['--all-fields', 'A record on a terminal with every field it has.'],
      ['--jq PROGRAM', 'A jq program over the JSON answer; text results are printed bare.'],
      ['--template TEXT', 'A Mustache template over the JSON answer; a list is rendered row by row.'],
      ['--no-header', 'A table or CSV without its header line.'],
    ]),
    heading('Examples'),
    shell('Ids of all labels, for a loop', 'opsctl tracker labels list -o name'),
    shell('Two fields of each row', "opsctl tracker labels list --jq '.[] | [.id, .name] | @tsv'"),
    shell('A spreadsheet', 'opsctl tracker labels list -o csv --columns id,name,color > labels.csv'),
    shell('Text of your own', "opsctl tracker labels list --template '{{name}} ({{id}})'"),
    heading('Errors'),
    prose(
      'Under -o json and -o ndjson an error is one JSON object on standard error, with `code`, `message`, `hint`, `problems`, `docs`, `retryable` and `request_id`. `opsctl explain CODE` says more about it.',
    ),
    heading('Pager'),
    prose(
      'On a terminal a long answer goes to $OPSCTL_PAGER, else $PAGER, else `less`, which ends by itself when all fits on one screen. `--no-pager`, an empty OPSCTL_PAGER or `cat` turns it off; in CI there is none.',
    ),
    heading('Colour and signs'),
    prose(
      '--color beats NO_COLOR, that beats FORCE_COLOR and CLICOLOR_FORCE. In a locale that is not UTF-8 (LANG=C) lines and ticks are drawn in ASCII.',
    ),
  ],
};

export const ciPage: Page = {
  title: 'opsctl help ci',
  summary: 'Pipelines: exit codes and snippets',
  blocks: [
    prose(
      'With CI set nothing is asked, nothing is drawn over and there is no pager. Decide by exit code: 0 done, 20 the answer is no (a difference, an unhealthy cluster), everything else is a failure. `opsctl help exit-codes` lists them.',
    ),
    prose(
      'On GitHub Actions, findings and problems with a file and a line stand beside that line, and a table of them in the job summary; on GitLab they are a section of the log, and `--report codequality=FILE` makes the artifact that a merge request shows. `--report` takes junit, sarif, codequality and markdown, with kv check, labels lint, labels diff, tracker diff and tracker bulk. `action.yml` and `Containerfile` lie in the repository.',
    ),
    heading('Examples'),
    shell(
      'Test a script against services of its own',
      'opsctl mock run -- opsctl tracker labels list -o name',
    ),
    shell('Save the workspace as a file to review', 'opsctl tracker export > workspace.yaml'),
    shell('Fail the job when the tracker differs from the file', 'opsctl tracker diff -f workspace.yaml'),
    shell(
      'The same as test results and for code scanning',
      'opsctl tracker diff -f workspace.yaml --report junit=tracker.xml,sarif=tracker.sarif',
    ),
    shell('Create what is missing, change what differs', 'opsctl tracker apply -f workspace.yaml --yes'),
  ],
};

export const configurationPage: Page = {
  title: 'opsctl help configuration',
  summary: 'Settings, profiles and files; what beats what',
  blocks: [
    prose(
      'A flag beats an environment variable, the variable beats the profile, the profile beats the default. `opsctl config list --show-origin` shows where each value comes from.',
    ),
    heading('Profiles'),
    prose(
      'A profile is a set of settings with a name. Sign-ins, caches and local state of two profiles never meet. The built-in profile `mock` always means the embedded services. With nothing configured it is the one in use, so that nothing real is touched until you name it; a sign-in at a real server is then kept in a profile named after the server.',
    ),
    shell(
      'A profile for a real tracker',
      'opsctl config set tracker.url https://tracker.example.com --profile work',
    ),
    shell(
      'Its token, read from standard input',
      'printf %s "$TOKEN" | opsctl config set tracker.token --stdin --profile work',
    ),
    shell('Use it from now on', 'opsctl config use work'),
    shell('Use it for one command', 'opsctl tracker labels list --profile work'),
    heading('Settings'),
    terms(
      keys.map(({ key, env, summary, fallback }): [string, string] => [
        key,
        `${summary}${env === undefined ? '' : `; ${env}`}${fallback === undefined ? '' : ` (default ${fallback})`}`,
      ]),
    ),
    heading('Files'),
    terms([
      ['config.json', 'All profiles: $XDG_CONFIG_HOME/opsctl, else ~/.config/opsctl'],
      ['state', 'Sign-ins, the state of the mock, journals of runs: ~/.local/state/opsctl'],
      ['cache', 'Names for completion: ~/.cache/opsctl'],
      ['OPSCTL_HOME', 'One directory for all three'],
    ]),
  ],
};

export const exitCodesPage: Page = {
  title: 'opsctl help exit-codes',
  summary: 'Exit codes, and what to do about each',
  blocks: [
    terms(
      Object.values(exitCodes).map(({ code, meaning, advice }): [string, string] => [
        String(code).padStart(3),
        advice === undefined ? meaning : `${meaning}. ${advice}`,
      ]),
    ),
    prose('`opsctl explain 11` says more about one code. The codes never change their meaning.'),
  ],
};

export const flagsPage: Page = {
  title: 'opsctl help flags',
  summary: 'Flags that every command takes, before, between or after its words',
  blocks: [
    heading('Flags'),
    flagTerms(globalFlags),
    prose(
      'A command may have a flag of the same name: its own meaning wins there. `labels create --color #2a7de1` sets the colour of a label, and `--color never` still turns colours of the output off.',
    ),
    prose('A switch takes a value too: `--dry-run=false`. `--` ends the flags.'),
  ],
};

export const mockPage: Page = {
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

export const securityPage: Page = {
  title: 'opsctl help security',
  summary: 'Where secrets are kept and what is redacted',
  blocks: [
    heading('Where they are kept'),
    prose(
      'Tokens of a sign-in are in one encrypted file that only you can read (mode 0600). Its key is in the keychain of the system, or in a file beside it where there is no keychain; `opsctl auth status` says which.',
    ),
    prose(
      'Tokens that you set (`config set tracker.token --stdin`) are in config.json, which only you can read. Secrets are never taken from the command line, where other users of the machine could see them.',
    ),
    prose(
      'The cache directory holds compiled code of the program (`code`). It is used only while you own it and nobody else can write to it; NODE_COMPILE_CACHE names another directory, NODE_DISABLE_COMPILE_CACHE=1 does without.',
    ),
    heading('What is redacted'),
    prose(
      'Every secret that the program has loaded is replaced by *** in answers, messages, --debug traces, HAR files and journals: by its value, in plain form, URL-encoded and in base64. Only `auth token` and `config get --reveal` print one, because that is what you asked for.',
    ),
    heading('What is sent'),
    prose(
      'There is no telemetry and no update check. Plain HTTP is refused except on this machine. A token of the mock never goes to a real service, and a real one never goes to the mock.',
    ),
    shell('Remove the sign-in and revoke its tokens', 'opsctl logout'),
    shell('A redacted trace for a bug report', 'opsctl tracker labels list --har trace.har'),
  ],
};

export const upgradePage: Page = {
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
