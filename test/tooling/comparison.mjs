// @ts-check
// The rows of docs/comparison.md: the command to type, the nearest feature of another tool, and the test that proves the
// row. `npm run docs` writes the page. The other tools were run in November 2026. Facts in brackets come only from their
// documentation.

/**
 * [row, command, verdict, nearest feature of another tool, file of the test, its title]
 * @type {typeof import('./comparison.mjs').rows}
 */
export const rows = [
  [
    'JSON everywhere',
    'opsctl tracker labels list -o json',
    'best',
    'gh: some commands, with a list of fields; wrangler, vercel: some commands',
    'test/output/render.text.test.ts',
    'JSON is one valid array at its end, however the rows came',
  ],
  [
    'YAML, table, CSV',
    'opsctl tracker labels list -o csv',
    'best',
    'kubectl: YAML and tables; gh: not available',
    'test/stories/output.real.test.ts',
    'every format can be read back with equal data',
  ],
  [
    'NDJSON, streamed',
    'opsctl tracker search is:started --all -o ndjson',
    'best',
    'kubectl: for watch only',
    'test/output/render.text.test.ts',
    '--jq with -o ndjson writes each row as a separate document',
  ],
  [
    'Built-in query',
    "opsctl tracker labels list --jq '.[].name'",
    'best',
    'gh: --jq requires --json FIELDS, on some commands; kubectl: jsonpath',
    'test/output/render.text.test.ts',
    'a filter that wants no more rows ends the reading',
  ],
  [
    'Templates',
    "opsctl tracker labels list --template '{{id}} {{name}}'",
    'equal',
    'gh, kubectl: Go templates',
    'test/stories/trace.real.test.ts',
    '--template prints each row as text; a broken one is refused before anything is sent',
  ],
  [
    'Columns',
    'opsctl tracker labels list --columns id,name',
    'best',
    'kubectl: custom-columns; an unknown column is empty',
    'test/output/render.text.test.ts',
    'an unknown column is a usage error with the nearest name, before any output',
  ],
  [
    'No header',
    'opsctl tracker labels list -o table --no-header',
    'equal',
    'kubectl: --no-headers',
    'test/output/render.text.test.ts',
    '--no-header',
  ],
  [
    'Pager',
    'opsctl tracker epics list',
    'equal',
    'gh: pager with the rules of git',
    'test/cli/pager.services.test.ts',
    'a pager shows reading output',
  ],
  [
    'Color rules',
    'NO_COLOR=1 opsctl doctor',
    'best',
    'gh: NO_COLOR, CLICOLOR_FORCE; no --color, no FORCE_COLOR',
    'test/output/color.test.ts',
    '--color=%s with %j, terminal %s: %s',
  ],
  [
    'Standard output is data only',
    'opsctl tracker labels list > labels.json',
    'best',
    'gh: yes; wrangler wrote color codes and a banner into a file',
    'test/cli/misuse.test.ts',
    'an unknown flag before, between or after the words of any command is refused',
  ],
  [
    'HTTP trace',
    'opsctl tracker labels list --debug --har trace.har',
    'best',
    'gh: GH_DEBUG=api; kubectl: -v=8; no HAR',
    'test/stories/trace.real.test.ts',
    '--debug shows method, headers, bodies, time and a curl line, and no secret',
  ],
  [
    'Request ID in errors',
    'opsctl tracker labels get 999999999',
    'best',
    'wrangler, gcloud [some]',
    'test/stories/output.real.test.ts',
    'errors are available as text and as one JSON object, without the token',
  ],
  [
    'Hint and explanation for each error',
    'opsctl explain NO_TOKEN',
    'best',
    'flyctl: suggestion and link',
    'test/stories/explain.real.test.ts',
    'the docs of an error name a working command',
  ],
  [
    'Did you mean',
    'opsctl trcker labels list',
    'best',
    'gh: for commands; for an unknown flag or value, it lists all of them',
    'test/stories/defects.ts',
    'did-you-mean was uneven',
  ],
  [
    'Exit codes',
    'opsctl help exit-codes',
    'best',
    'gh: 5 codes; restish: one per HTTP class',
    'test/cli/exit-codes.test.ts',
    'exit code of the category %s',
  ],
  [
    'Dry run',
    'opsctl tracker labels create --name bug --dry-run',
    'best',
    'kubectl: --dry-run, without a curl command',
    'test/stories/dry-run.real.test.ts',
    'the curl line of a dry run makes the same request',
  ],
  [
    'No prompt with --yes',
    'opsctl tracker labels delete bug --yes',
    'best',
    'gh: --yes or --force, depending on the command; gist delete and secret delete never prompt',
    'test/cli/asks-before.test.ts',
    'every command that deletes confirms first, and one flag confirms all of them',
  ],
  [
    'Typed-name confirmation',
    'opsctl kv upgrade',
    'best',
    'gh repo delete, heroku: once; opsctl prompts again at the point of no return',
    'test/stories/kv-top.real.test.ts',
    'an upgrade asks for the name of the cluster, as without the view',
  ],
  [
    'Profiles',
    'opsctl config use work',
    'equal',
    'kubectl: contexts; aws: profiles',
    'test/stories/output.real.test.ts',
    'a profile is created, used, and shown with its origin and a hidden secret',
  ],
  [
    'Keychain',
    'opsctl auth status',
    'best',
    'gh 2.23: plain text in a file [later versions: the keychain, or plain text if it is not available]',
    'test/auth/credential-store/store.test.ts',
    'stored data is encrypted, 0600, and read back',
  ],
  [
    'Completion',
    'opsctl completion install',
    'best',
    'gh, kubectl: descriptions; records through the network',
    'test/real/completion.real.test.ts',
    'ids come with titles, and names with ids',
  ],
  [
    'Manual pages',
    'man opsctl-kv',
    'equal',
    'gh, kubectl [Debian packages]',
    'test/stories/explain.real.test.ts',
    'man accepts every manual page, and there is one for each command and group',
  ],
  [
    'Generated reference',
    'opsctl reference tracker labels create',
    'best',
    'gh reference: commands and flags, without fields, limits, errors and JSON',
    'test/stories/explain.real.test.ts',
    'commands -o json is the complete registry',
  ],
  [
    'Update notice',
    'opsctl config set update_notice on',
    'equal',
    'gh, vercel: a notice that is on by default; in opsctl it is off by default',
    'test/commands/product.services.test.ts',
    'an update notice is printed once a day, on standard error, and only on request',
  ],
  [
    'Extensions',
    'opsctl hello (a program opsctl-hello on the PATH)',
    'equal',
    'kubectl, git: the same; gh: extensions and aliases',
    'test/cli/extension.services.test.ts',
    'a program opsctl-NAME on PATH is a command',
  ],
  [
    'Environment for a shell',
    'eval "$(opsctl mock env)"',
    'equal',
    'aws: export-credentials; mise: env',
    'test/stories/mock-in-tests.real.test.ts',
    'starts, is found by later commands and by a shell',
  ],
  [
    'Doctor',
    'opsctl doctor --bundle report.tar.gz',
    'best',
    'flyctl, sf: doctor, without an archive',
    'test/commands/doctor-bundle.services.test.ts',
    'holds versions, origins, both doctors and the last crash',
  ],
  [
    'Offline sandbox',
    'opsctl tour',
    'best',
    'stripe-mock and emulators are separate programs',
    'test/stories/mock.real.test.ts',
    'gives the command a server, and takes its exit code',
  ],
  [
    'Prompts for missing values',
    'opsctl tracker labels create',
    'best',
    'gh, heroku: prompts, without the complete command afterwards',
    'test/stories/asking.real.test.ts',
    'asks for a missing name and prints the whole command',
  ],
  [
    'Accessible prompts',
    'ACCESSIBLE=1 opsctl tracker labels create',
    'best',
    'gh 2.23: not available [later versions: GH_ACCESSIBLE_PROMPTER]',
    'test/platform/terminal.real.test.ts',
    'questions for a screen reader are not redrawn',
  ],
  [
    'Single executable and npm package',
    'npm run release',
    'best',
    'gh, kubectl: executable only; wrangler, vercel: npm only',
    'test/stories/single-executable.real.test.ts',
    'the tour: all three jobs, with servers and members that it starts itself',
  ],
  [
    'Checksums and software bill of materials',
    '(cd release && sha256sum --check SHA256SUMS)',
    'equal',
    'gh, restish: checksums; provenance requires a published package',
    'test/stories/packed.real.test.ts',
    'action.yml without a package builds the same archive in another directory and runs it, without a registry',
  ],
  [
    'No telemetry',
    'opsctl tour',
    'best',
    'gh: no telemetry; vercel, heroku: enabled, with a notice',
    'test/docs/published.test.ts',
    'no package needs an install script',
  ],
  [
    'Undo of the last change',
    'opsctl undo --dry-run',
    'best',
    'not available in the compared tools (requested: runatlantis/atlantis 734)',
    'test/commands/undo.services.test.ts',
    'undo restores the values that commands replaced, the last command first',
  ],
  [
    'Aliases',
    "opsctl alias set mine 'tracker stories list --owner @me'",
    'equal',
    'gh alias; kubectl: kuberc',
    'test/cli/aliases.test.ts',
    'alias set stores a line, alias list prints it, alias unset removes it',
  ],
  [
    'Edit in $EDITOR',
    'opsctl tracker stories edit 107',
    'best',
    'kubectl edit: rejects a conflict; gh issue edit: overwrites',
    'test/commands/tracker/everyday.services.test.ts',
    'edit refuses to overwrite a field that another user has changed, and keeps the text',
  ],
  [
    'Wait for a state',
    'opsctl tracker stories wait 107 110 --for Completed --within 10m',
    'best',
    'kubectl wait: any field of several objects; a deleted object or an unknown condition waits until the limit; gh run watch: one run',
    'test/commands/tracker/everyday.services.test.ts',
    'wait accepts several stories: a row for each, one limit for all, and code 20 if one is late',
  ],
  [
    'Changes of a list as they happen',
    'opsctl tracker labels list --watch',
    'equal',
    'kubectl get --watch; stripe listen: events only',
    'test/cli/watch-list.services.test.ts',
    'a program reads one JSON object for each record, and Ctrl-C ends the command',
  ],
  [
    'Traces with OpenTelemetry',
    'OTEL_TRACES_EXPORTER=otlp opsctl kv upgrade',
    'equal',
    'terraform: OTEL_TRACES_EXPORTER; gh, kubectl: not available',
    'test/cli/telemetry.services.test.ts',
    'a command and its requests are one trace',
  ],
  [
    'Reports of checks for CI',
    'opsctl kv check --report junit=check.xml,sarif=check.sarif',
    'best',
    'not available in the compared tools',
    'test/commands/reports.services.test.ts',
    'has a report of a failure while it runs, in place of an earlier report',
  ],
];

/**
 * Features of other tools that opsctl does not have.
 * @type {typeof import('./comparison.mjs').leads}
 */
export const leads = [
  ['Messages in other languages', 'kubectl: eight languages', 'English only'],
  [
    'A catalog of extensions',
    'gh extension search; kubectl krew',
    '`opsctl extension install` copies a local program',
  ],
  ['Published documentation site', 'gh, kubectl, wrangler', '`npm run docs:site` builds one'],
  ['Start-up time', 'etcdctl: 15 ms; gh: 42 ms', 'as fast as Node itself, about 60 ms'],
];

/** @type {typeof import('./comparison.mjs').comparison} */
export const comparison = () => {
  /** @param {string} word */
  const count = (word) => rows.filter(([, , verdict]) => verdict === word).length;
  return `# Comparison with other command-line tools

opsctl combines three jobs: OAuth sign-in, resource management and etcd upgrades. Use a different tool in these cases:

- You work with one service that has an official command-line tool, such as gh for GitHub. That tool knows the service better.
- You only send single HTTP requests. curl and httpie are smaller.
- You need a token of one provider in a browser application. Use the libraries of the provider.

The table compares opsctl with gh 2.23, kubectl 1.32, docker 28, httpie 3.2, wrangler 4, vercel 60, heroku 11, netlify and firebase. All tools were run in November 2026; facts in brackets come from the documentation only. opsctl is ahead in ${count('best')} of ${rows.length} rows and equal in ${count('equal')}. A test proves each row. \`npm run docs\` generates this page from \`test/tooling/comparison.mjs\`.

| feature | command | opsctl | nearest feature of another tool | test |
|---|---|---|---|---|
${rows.map(([row, command, verdict, peer, file]) => `| ${row} | \`${command.replaceAll('|', '\\|')}\` | ${verdict} | ${peer} | \`${file}\` |`).join('\n')}

## Where other tools lead

| feature | tool | opsctl |
|---|---|---|
${leads.map((row) => `| ${row.join(' | ')} |`).join('\n')}
`;
};
