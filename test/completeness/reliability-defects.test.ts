/** Defects that the reviews of reliability found, by their numbers, and the tests that would see each again. */
import { existsSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';

const root = new URL('../../', import.meta.url).pathname;

/** Number in the review (S4: the minor ones), defect, file below `test`, and the whole title of a test in it. */
const defects: readonly (readonly [number: string, defect: string, file: string, title: string])[] = [
  [
    'D1',
    'a long secret crashed the redactor, which showed it',
    'output/redact-long.test.ts',
    'redaction of any bytes never throws and leaves no secret',
  ],
  [
    'D1',
    'secrets of any length were taken',
    'stories/long-secrets.real.test.ts',
    'a secret that is too long is rejected by name without being shown: %s',
  ],
  [
    'D1',
    'secrets of notifications of any length were taken',
    'kv/upgrade/window/long-secrets.test.ts',
    '%s longer than a secret can be stops the run before it starts',
  ],
  [
    'D1',
    'a long secret that was stored could only be removed by hand',
    'stories/long-secrets.real.test.ts',
    'a secret that is too long, stored by an earlier version, can be removed',
  ],
  [
    'D1',
    'an unforeseen error showed its message',
    'stories/long-secrets.real.test.ts',
    'prints one line and leaves a report that only its owner can read',
  ],
  [
    'D2',
    'sockets of ssh under a name that others know',
    'kv/upgrade/supervisors/ssh.services.test.ts',
    'sockets are in a private directory with a short name',
  ],
  [
    'D3',
    'an answer that proves nothing was a success: each row',
    'api/proof.test.ts',
    'only the response to %s itself confirms it',
  ],
  [
    'D3',
    'the same in tracker commands',
    'commands/tracker/proof.services.test.ts',
    '%s: create, update and delete exit with code 11 and an excerpt',
  ],
  [
    'D3',
    'the same in tracker bulk',
    'commands/tracker/proof.services.test.ts',
    '%s: bulk never treats the row as done, and --resume creates the record',
  ],
  [
    'D3',
    'the same in calls of the store',
    'kv/client/operation-calls.services.test.ts',
    '%j confirms no change, and does not mean an empty result',
  ],
  [
    'D3',
    'the same in maintenance of the store',
    'kv/client/operation-calls.services.test.ts',
    '%j proves no defragmentation and no move of the leader',
  ],
  [
    'D3',
    'an odd status was taken for a success of an upload',
    'api/proof.test.ts',
    'a response outside the tables is a success only with 2xx',
  ],
  [
    'D4',
    'a page token that comes again',
    'commands/repeated-page.services.test.ts',
    '%j fails when a page token is repeated',
  ],
  [
    'D4',
    'pages that go round, and an offset that is ignored',
    'commands/repeated-page.services.test.ts',
    '%s ends when the pages go round in a circle',
  ],
  [
    'D4',
    'pages without a row for ever',
    'commands/repeated-page.services.test.ts',
    '%s: pages without a row end after a thousand',
  ],
  [
    'D4',
    'a token or rows of another kind',
    'commands/repeated-page.services.test.ts',
    'the body %j is not mistaken for a page',
  ],
  [
    'D5',
    'an incomplete last event',
    'kv/upgrade/damaged-files.test.ts',
    'an incomplete last event is dropped and reported',
  ],
  ['D5', 'a damaged file beside the journal', 'kv/upgrade/damaged-files.test.ts', '%s that is damaged'],
  [
    'D6',
    'a jq program that nothing ended',
    'platform/jq.test.ts',
    'an endless program can be stopped, and a writer receives an error',
  ],
  [
    'D7',
    'known causes were unexpected',
    'stories/known-causes.real.test.ts',
    'a known cause has its exit code and is never unexpected',
  ],
  [
    'D7',
    'an address of a content that is none was unexpected',
    'commands/tracker/odd-answers.services.test.ts',
    'a file with an invalid URL: %j',
  ],
  [
    'D7',
    'a message that is no percent encoding was unexpected',
    'kv/client/operation-calls.services.test.ts',
    'a message with invalid percent encoding is shown unchanged',
  ],
  [
    'D8',
    'pipes and devices in place of files were read',
    'platform/read-file.test.ts',
    '%s is rejected with %s, without waiting',
  ],
  [
    'D8',
    'pipes were streamed and appended to, devices were replaced',
    'platform/read-file.test.ts',
    'a device is not appended to, cut, replaced or streamed',
  ],
  [
    'D8',
    'a file took the place of /dev/null and /dev/stdout',
    'platform/read-file.test.ts',
    'writing to a stream of this process replaces no file',
  ],
  [
    'D8',
    'TAB waited for a pipe',
    'stories/known-causes.real.test.ts',
    'TAB and a start wait for no pipe in place of a kept file',
  ],
  [
    'D9',
    "a server's name for a file was taken as it is",
    'tracker/safe-name.test.ts',
    'the name %j of a stranger is written as %s',
  ],
  [
    'D9',
    'a name that is too long for a file',
    'tracker/safe-name.test.ts',
    'a name is cut to 200 bytes, and keeps its ending: %#',
  ],
  [
    'D10',
    'the rate was kept by ticket',
    'api/rate.test.ts',
    'the service never sees more than the limit in any window, however late requests leave and arrive',
  ],
  [
    'D11',
    'an answer that drips had no limit',
    'platform/transport.services.test.ts',
    'an endless response is aborted, even if bytes keep arriving',
  ],
  [
    'D11',
    'an answer in place of a list had none either',
    'commands/repeated-page.services.test.ts',
    'an endless response to %s is aborted, even if bytes keep arriving',
  ],
  [
    'D11',
    'a pause of any length that a service asks for',
    'api/retry.test.ts',
    'a pause that the service asks for is kept up to the limit, and not waited for beyond it',
  ],
  [
    'D12',
    'packages without integrity',
    'docs/published.test.ts',
    'every package of the lock file is checked by its integrity',
  ],
  ['S4', 'two Host headers', 'contract/hostile-requests.services.test.ts', 'two that are the same'],
  [
    'S4',
    'clients that drip',
    'contract/hostile-requests.services.test.ts',
    'a client has less time for the head than for the whole, and there is a ceiling of clients',
  ],
  [
    'S4',
    'uploads in memory',
    'contract/hostile-requests.services.test.ts',
    'uploads that do not come to an end hold up no other one',
  ],
  [
    'S4',
    'writes of pages of other sites',
    'contract/hostile-requests.services.test.ts',
    'a rejected request of another site is not executed',
  ],
  [
    'S4',
    'NUL in a header',
    'platform/http1/head.test.ts',
    'the control character %i is refused in a value, a name and a reason',
  ],
  ['S4', 'folded lines', 'platform/http1/head.test.ts', 'a folded line is refused: %j'],
  [
    'S4',
    'C1 controls in errors as JSON',
    'output/error.test.ts',
    'controls of C1 and marks of direction do not stand raw in an error as JSON',
  ],
  [
    'S4',
    'formulas in CSV',
    'output/render.test.ts',
    '--csv-safe escapes formulas; numbers and plain CSV stay unchanged',
  ],
  [
    'S4',
    'a writer of settings gave up',
    'config/store.test.ts',
    'a lock that passes from command to command is awaited, for any number of commands',
  ],
  [
    'S4',
    'an EDITOR with quotes',
    'stories/tracker-editor.real.test.ts',
    'EDITOR may contain quotes, a path with spaces and arguments, as for git',
  ],
  ['S4', 'names of multicast DNS', 'contract/hostile-requests.services.test.ts', 'a name of multicast DNS'],
  [
    'S4',
    'names that a search domain completes',
    'contract/hostile-requests.services.test.ts',
    'a name that a search domain completes',
  ],
  [
    'S4',
    'names that the name server of a network gives out',
    'contract/hostile-requests.services.test.ts',
    'a name that the name server of a network gives out',
  ],
  [
    'S4',
    'a journal of the mock server that was cut in the middle of a line',
    'mock-server/journal.test.ts',
    'a cut line is reported with its size, and every complete line is kept',
  ],
  [
    'S4',
    'a journal of the mock server that was cut at the end of a line',
    'mock-server/journal.test.ts',
    'a cut file of a stopped server is damaged, including at the end of a line, and no other file is changed',
  ],
];

const quotes = ["'", '"', '`'];
it.each(defects)('%s: %s', (_, __, file, title) => {
  const path = `${root}test/${file}`;
  expect(existsSync(path), `${file} is gone: name the test that took its place`).toBe(true);
  const text = readFileSync(path, 'utf8');
  const isThere = quotes.some((quote) => text.includes(`${quote}${title}${quote}`));
  expect(isThere, `${file} has no test "${title}"`).toBe(true);
});

it('every number of the review has its test', () => {
  const numbers = new Set(defects.map(([number]) => number));
  const all = [...Array.from({ length: 12 }, (_, i) => `D${i + 1}`), 'S4'];
  expect(all.filter((number) => !numbers.has(number))).toEqual([]);
});
