import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { type Ran, opsctl } from '../../support/program.ts';
import { covers } from '../../support/covers.ts';
import { naming } from '../../support/facts.ts';
import { makeDirectory } from '../../support/directory.ts';

let home: string;
beforeAll(() => {
  home = makeDirectory();
});
/** A dry run sends no request: no server listens at the address. */
const dryRun = (name: string, text: string, ...argv: string[]): Promise<Ran> => {
  writeFileSync(join(home, name), text);
  return opsctl(['tracker', 'bulk', '-f', join(home, name), '--dry-run', '-o', 'ndjson', ...argv], {
    home,
    env: { OPSCTL_TRACKER_URL: 'http://127.0.0.1:9', OPSCTL_TRACKER_TOKEN: 'bulk-t0ken' },
  });
};

test(
  'a run of invalid rows exits with code 2, or with 9 if other rows succeeded',
  covers('exit/partial'),
  async () => {
    expect((await dryRun('bad.ndjson', '{"resource":"lables","op":"create","name":"x"}\n')).code).toBe(2);
    const some = '{"resource":"labels","op":"create","name":"x"}\n{"resource":"labels","op":"create"}\n';
    expect((await dryRun('some.ndjson', some)).code).toBe(9);
  },
);

test('a dry run finds a name that two rows create', async () => {
  const row = '{"resource":"labels","op":"create","name":"x"}\n';
  const ran = await dryRun(
    'twice.ndjson',
    `${row}{"resource":"epics","op":"create","name":"x"}\n${row}${row}`,
  );
  const outcomes = ran.stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(outcomes.map(({ status }) => status)).toEqual(['would', 'would', 'failed', 'failed']);
  for (const { error } of outcomes.slice(2)) expect(error.message).toEqual(naming('1', 'created'));
});

test('a spreadsheet table reports how it was read', async () => {
  const ran = await dryRun(
    'labels.tsv',
    'name\tcolor\nbug\t#ff0000\n',
    '--resource',
    'labels',
    '--op',
    'create',
  );
  expect([ran.code, JSON.parse(ran.stdout).request.body]).toEqual([0, { name: 'bug', color: '#ff0000' }]);
  expect(ran.stderr).toContain('reading CSV separated by tabs');
  const given = await dryRun(
    'l.csv',
    'name;x,color\nbug;x,#ff0000\n',
    '--delimiter',
    'semicolon',
    '--resource',
    'labels',
    '--op',
    'create',
  );
  expect(given.code).toBe(2);
});
