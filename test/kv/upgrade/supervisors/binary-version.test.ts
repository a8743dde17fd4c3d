import { chmodSync, copyFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { nodeFiles } from '../../../../src/platform/node/files.ts';
import { binaryVersion, versionsOfBinaries } from '../../../../src/kv/upgrade/supervisors/local.ts';
import { fakeHost } from '../../../support/fake-host.ts';
import { makeDirectory } from '../../../support/directory.ts';

/** A server that prints its version after `seconds`. */
const after = (seconds: number) =>
  fakeHost({
    run: ({ options: { timeoutMs = Number.POSITIVE_INFINITY } }) =>
      timeoutMs < seconds * 1000 ? { code: null, timedOut: true } : { stdout: 'etcd Version: 3.6.14\n' },
  });

it('a server on a busy machine has seconds to report its version; one that hangs is named with the time', async () => {
  expect(await binaryVersion(after(8), '/new/etcd')).toEqual({ version: '3.6.14' });
  expect(await binaryVersion(after(60), '/new/etcd')).toEqual({
    error: '/new/etcd --version does not log a version within 10 s',
  });
});

describe('a binary that was asked before', () => {
  const directory = makeDirectory();
  /** Uses real files. Each program start is counted and prints the next version. */
  const asked = () => {
    const said = ['3.4.23', '3.5.21', '3.5.22'];
    const host = {
      ...fakeHost({ run: () => ({ stdout: `etcd Version: ${said.shift()}\n` }) }),
      files: nodeFiles,
    };
    return versionsOfBinaries(host);
  };
  const program = (name: string): string => {
    const path = join(directory, name);
    copyFileSync('/bin/sh', path);
    return path;
  };

  it('a binary is not started again while its file is unchanged', async () => {
    const [versionOf, path] = [asked(), program('same')];
    expect([await versionOf(path), await versionOf(path)]).toEqual([
      { version: '3.4.23' },
      { version: '3.4.23' },
    ]);
  });
  it.each([
    ['another file is', (path: string) => renameSync(program('other'), path)],
    ['its rights were changed', (path: string) => chmodSync(path, 0o700)],
  ])('a binary is queried again when %s', async (_, change) => {
    const [versionOf, path] = [asked(), program('changed')];
    await versionOf(path);
    change(path);
    expect(await versionOf(path)).toEqual({ version: '3.5.21' });
  });
  it('a script is queried every time, because its target may change', async () => {
    const [versionOf, path] = [asked(), join(directory, 'script')];
    writeFileSync(path, '#!/bin/sh\nexec /usr/local/bin/etcd "$@"\n', { mode: 0o700 });
    expect([await versionOf(path), await versionOf(path)]).toEqual([
      { version: '3.4.23' },
      { version: '3.5.21' },
    ]);
  });
});
