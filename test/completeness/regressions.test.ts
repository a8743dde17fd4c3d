/** Defects that users met once, and the test that would see each again. */
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

const root = new URL('../../', import.meta.url).pathname;

/** defect → file, and a part of the test's text. */
const regressions: readonly (readonly [defect: string, file: string, text: string])[] = [
  [
    'a long secret in a stack trace',
    'test/output/redact-long.test.ts',
    'redaction of any bytes never throws',
  ],
  [
    'a long secret that is stored',
    'test/stories/long-secrets.real.test.ts',
    'a secret that is too long, stored by an earlier version, can be removed',
  ],
  [
    'a predictable socket in a shared directory',
    'test/kv/upgrade/supervisors/ssh.services.test.ts',
    'ControlPath=',
  ],
  ['a write that an answer does not prove', 'test/commands/tracker/proof.services.test.ts', 'test'],
  ['a page that comes again', 'test/commands/repeated-page.services.test.ts', 'page'],
  [
    'a torn file beside the journal',
    'test/kv/upgrade/damaged-files.test.ts',
    'an incomplete last event is dropped and reported',
  ],
  ['a plan changed by hand', 'test/kv/upgrade/damaged-files.test.ts', 'a plan that was changed by hand'],
  ['a jq program that never ends', 'test/platform/jq.test.ts', 'an endless program can be stopped'],
  ['"unexpected" for known causes', 'test/stories/known-causes.real.test.ts', 'unexpected'],
  ['a FIFO in place of a file', 'test/platform/read-file.test.ts', 'mkfifo'],
  ["a server's name for a file", 'test/tracker/safe-name.test.ts', '.bashrc'],
  ['a rate kept by ticket', 'test/api/rate.test.ts', 'however late requests leave and arrive'],
  ['an answer without end', 'test/platform/transport.services.test.ts', 'an endless response is aborted'],
  ['packages without integrity', 'test/docs/published.test.ts', 'is checked by its integrity'],
  ['two Host headers', 'test/contract/hostile-requests.services.test.ts', 'two that differ'],
  [
    'names that others can lead here',
    'test/contract/hostile-requests.services.test.ts',
    'a name of multicast DNS',
  ],
  ['writes of other sites', 'test/contract/hostile-requests.services.test.ts', 'a page of another site'],
  ['uploads in memory', 'test/mock-server/room.test.ts', 'n and not n + 1'],
  ['folded lines and NUL in a header', 'test/platform/http1/head.test.ts', 'a folded line is refused'],
  ['C1 controls on a terminal', 'test/output/printable.test.ts', '9b'],
  ['formulas in CSV', 'test/output/render.test.ts', '--csv-safe'],
  ['an EDITOR with words', 'test/stories/tracker-editor.real.test.ts', 'EDITOR'],
  [
    'half a key of the credentials',
    'test/auth/credential-store/store.test.ts',
    'a partial key of a killed command',
  ],
  ['a cut configuration on a full disk', 'test/config/store.test.ts', 'a disk that fills up'],
  [
    'a gap in the state after a loss of power',
    'test/mock-server/journal.test.ts',
    'before the new one is started',
  ],
  ['a lock and a claim of one moment', 'test/platform/file-lock.services.test.ts', 'in the same millisecond'],
  [
    'a line of another kind in the log of a member',
    'test/etcd-sim/disk/wal.test.ts',
    'a line of another kind',
  ],
];

test.each(regressions)('%s', (_, file, text) => {
  expect(readFileSync(root + file, 'utf8').toLowerCase()).toContain(text.toLowerCase());
});
