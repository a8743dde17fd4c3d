import { spawn } from 'node:child_process';
import { createServer } from 'node:net';
import { expect, test } from 'vitest';

test('a fast test that starts a server or a program is told where its file belongs', () => {
  expect(() => createServer().listen(0)).toThrow(
    /^a fast test starts a server: name its file \*\.services\.test\.ts/,
  );
  expect(() => spawn(process.execPath, ['--version'])).toThrow(
    /^a fast test starts .*node.*services\.test\.ts/,
  );
});
