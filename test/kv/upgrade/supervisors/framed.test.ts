import { describe, expect, it } from 'vitest';
import { sh } from '../../../../src/core/shell.ts';
import { frameScript, unframeOutput } from '../../../../src/kv/upgrade/supervisors/ssh.ts';

const done = (stdout: string, stderr = '', patch = {}) => ({
  ...{ code: 0, signal: null, timedOut: false, stdout, stderr },
  ...patch,
});

describe('a script between two marks', () => {
  it('a script cannot read the text after it, and returns its exit code', () =>
    expect(String(frameScript(sh`true`, 'M'))).toBe(
      "echo M\necho M >&2\n(\ntrue\n) </dev/null\nprintf '\\n%s %d\\n' M $?\n",
    ));
  it('the output of a script is its own, on both streams', () =>
    expect(
      unframeOutput(done('hello\nM\nout\n\nM 3\n', 'motd\nM\nerr\n', { code: 9, signal: 'SIGTERM' }), 'M'),
    ).toEqual({
      kind: 'whole',
      done: { code: 3, signal: null, timedOut: false, stdout: 'out\n', stderr: 'err\n' },
    }));
  it('a script may be at the very start, and print no output', () =>
    expect(unframeOutput(done('M\n\nM 0\n', 'M\n'), 'M')).toMatchObject({
      ...{ kind: 'whole', done: { code: 0, stdout: '', stderr: '' } },
    }));
  it('a script without its mark on standard error has all of that output', () =>
    expect(unframeOutput(done('M\n\nM 0\n', 'lost'), 'M')).toMatchObject({ done: { stderr: 'lost' } }));
  it('a script that did not start, or not end, has no result', () => {
    expect(unframeOutput(done('no such shell\n'), 'M')).toEqual({ kind: 'not-begun' });
    expect(unframeOutput(done('M\nout\n'), 'M')).toEqual({ kind: 'cut' });
    expect(unframeOutput(done('M\nout\n\nM 0\nmore'), 'M')).toEqual({ kind: 'cut' });
  });
});
