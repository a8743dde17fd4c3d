import { describe, expect, it } from 'vitest';
import { sh } from '../../../../src/core/shell.ts';
import { frameScript, unframeOutput } from '../../../../src/kv/upgrade/supervisors/ssh.ts';

const done = (stdout: string, stderr = '', patch = {}) => ({
  ...{ code: 0, signal: null, timedOut: false, stdout, stderr },
  ...patch,
});

describe('a script between two marks', () => {
  it('cannot read what comes after it, and ends with its exit code', () =>
    expect(String(frameScript(sh`true`, 'M'))).toBe(
      "echo M\necho M >&2\n(\ntrue\n) </dev/null\nprintf '\\n%s %d\\n' M $?\n",
    ));
  it('is what it printed itself, on both streams', () =>
    expect(
      unframeOutput(done('hello\nM\nout\n\nM 3\n', 'motd\nM\nerr\n', { code: 9, signal: 'SIGTERM' }), 'M'),
    ).toEqual({
      kind: 'whole',
      done: { code: 3, signal: null, timedOut: false, stdout: 'out\n', stderr: 'err\n' },
    }));
  it('may stand at the very beginning, and print nothing', () =>
    expect(unframeOutput(done('M\n\nM 0\n', 'M\n'), 'M')).toMatchObject({
      ...{ kind: 'whole', done: { code: 0, stdout: '', stderr: '' } },
    }));
  it('without its mark on standard error has all of that', () =>
    expect(unframeOutput(done('M\n\nM 0\n', 'lost'), 'M')).toMatchObject({ done: { stderr: 'lost' } }));
  it('that did not begin, or not end, is none', () => {
    expect(unframeOutput(done('no such shell\n'), 'M')).toEqual({ kind: 'not-begun' });
    expect(unframeOutput(done('M\nout\n'), 'M')).toEqual({ kind: 'cut' });
    expect(unframeOutput(done('M\nout\n\nM 0\nmore'), 'M')).toEqual({ kind: 'cut' });
  });
});
