import { spawn } from 'node:child_process';
import { createServer } from 'node:net';
import { expect, test } from 'vitest';

test('an error names the location for a fast test that starts a server or a program', () => {
  expect(() => createServer().listen(0)).toThrow(
    /^a fast test starts a server: name its file \*\.services\.test\.ts/,
  );
  expect(() => spawn(process.execPath, ['--version'])).toThrow(
    /^a fast test starts .*node.*services\.test\.ts/,
  );
});
