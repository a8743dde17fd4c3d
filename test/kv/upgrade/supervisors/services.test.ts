/**
 * The commands for each kind of service manager and the meaning of the results, without a real manager.
 * Scripts are plain texts here.
 */
import { describe, expect, it } from 'vitest';
import { sh } from '../../../../src/core/shell.ts';
import { hooksService } from '../../../../src/kv/upgrade/supervisors/open.ts';
import {
  hasProcess,
  lastLine,
  mayBeDown,
  valuesIn,
  versionInText,
  waitFor,
  failureReason,
} from '../../../../src/kv/upgrade/supervisors/driver.ts';
import { staticPodService } from '../../../../src/kv/upgrade/supervisors/static-pod.ts';
import { systemdService, unitState } from '../../../../src/kv/upgrade/supervisors/systemd.ts';
import { AppError } from '../../../../src/core/problem.ts';
import { serviceTexts } from '../../../support/service-texts.ts';
import { done, placement } from '../../../support/finished.ts';
import type { ClusterFile, MemberSpec, Placement } from '../../../../src/kv/engine/model.ts';
import { naming } from '../../../support/facts.ts';
import { covers } from '../../../support/covers.ts';

const member: MemberSpec = { name: 'n1', client_url: 'http://h:2379', unit: 'kv.service' };
const cluster: ClusterFile = { name: 'c', members: [member] };

/** The script removes opsctl variables before it runs the hook. */
const hookLine = (script: string): string | undefined => script.split('\n').at(-1);
describe('small parts', () => {
  it('a test is repeated ten times a second, and one more time', () =>
    expect(String(waitFor(sh`test`, 1010))).toBe(
      'i=0\nwhile ! { test; }; do\n  i=$((i+1)); [ $i -gt 11 ] && exit 1\n  sleep 0.1\ndone\nexit 0',
    ));
  it('a command failed for the last line of its errors, else as it could not be started, else by its exit code', () => {
    const start = 'spawn ctl ENOENT';
    expect(failureReason(done({ code: 3, stderr: 'one\ntwo\n', startError: start }))).toBe('two');
    expect(failureReason(done({ code: null, stderr: ' \n', startError: start }))).toBe(start);
    expect(failureReason(done({ code: 3 }))).toEqual(naming('3'));
  });
  it('texts and lines', () => {
    expect([...valuesIn('a=b=c\nnone\n=d')]).toEqual([
      ...[
        ['a', 'b=c'],
        ['', 'd'],
      ],
    ]);
    expect([lastLine({ stdout: 'a\n', stderr: 'b\nc\n' }), lastLine({ stdout: 'a', stderr: '' })]).toEqual([
      'c',
      'a',
    ]);
  });
  it('a version is the first whole one in a text', () => {
    expect(versionInText('etcd Version: 3.4.23\nGo Version: go1.16.5')).toBe('3.4.23');
    expect(versionInText('version v3.6.0-rc.1')).toBe('3.6.0-rc.1');
    expect(versionInText('kv v3.5.1 built')).toBe('3.5.1');
    expect(versionInText('3.5.1')).toBe('3.5.1');
    expect([versionInText('go1.2.3'), versionInText('3.5')]).toEqual([undefined, undefined]);
  });
  it('there is a process unless it is gone, and unknown is neither', () => {
    expect(hasProcess({ state: 'unknown', reason: '' })).toBeUndefined();
    expect([hasProcess({ state: 'gone' }), hasProcess({ state: 'running' })]).toEqual([false, true]);
    expect(hasProcess({ state: 'starting', awaits: '' })).toBe(true);
    expect(mayBeDown(new AppError('stopped', 'x', { code: 'MEMBER_MAY_BE_DOWN' }))).toBe(true);
    expect([mayBeDown(new AppError('stopped', 'x', { code: 'SSH' })), mayBeDown(new Error('x'))]).toEqual([
      false,
      false,
    ]);
  });
});

describe('a unit', () => {
  const state = (values: object) =>
    unitState(
      Object.entries(values)
        .map(([key, value]) => `${key}=${value}`)
        .join('\n'),
      'kv.service',
    );
  it.each([
    [200, 'CHDIR'],
    [203, 'EXEC'],
    [205, 'LIMITS'],
    [209, 'STDOUT'],
    [216, 'GROUP'],
    [217, 'USER'],
    [218, 'CAPABILITIES'],
    [219, 'CGROUP'],
    [226, 'NAMESPACE'],
    [228, 'SECCOMP'],
    [238, 'STATE_DIRECTORY'],
  ])('a unit that ended with %i could not do %s', (status, word) =>
    expect(state({ ActiveState: 'failed', Result: 'exit-code', ExecMainStatus: status })).toMatchObject({
      reason: `kv.service failed (exit-code, exit status ${status}/${word})`,
    }),
  );
  it('a unit has an exit code unless a signal ended its process', () => {
    for (const active of [
      { ActiveState: 'failed' },
      { ActiveState: 'activating', SubState: 'auto-restart' },
    ]) {
      expect(state({ ...active, Result: 'exit-code', ExecMainStatus: 3 })).toHaveProperty('exitCode', 3);
      for (const Result of ['signal', 'oom-kill', 'core-dump'])
        expect(state({ ...active, Result, ExecMainStatus: 9 })).not.toHaveProperty('exitCode');
    }
  });
  it('a unit without a main process is gone', () => {
    expect(state({ ActiveState: 'active', MainPID: 1 })).toEqual({
      ...{ state: 'gone', reason: 'kv.service has no main process' },
    });
    expect(state({ ActiveState: 'reloading', MainPID: 2 })).toEqual({ state: 'running', pid: 2 });
    expect(state({ ActiveState: 'activating', SubState: 'start', MainPID: 1 })).toEqual({
      ...{ state: 'starting', awaits: 'kv.service is activating (start)' },
    });
    expect(state({ ActiveState: 'activating', SubState: 'start', MainPID: 2 })).toMatchObject({ pid: 2 });
  });
  it('a unit that failed without a status has its known data', () =>
    expect(state({ ActiveState: 'failed', Result: 'timeout' })).toEqual({
      ...{ state: 'gone', reason: 'kv.service failed (timeout)' },
    }));
  it(
    'a unit with a job is starting; job 0 means no job',
    covers('spec/store#measured-service-managers-2'),
    () => {
      expect(state({ ActiveState: 'inactive', Job: '0' }).state).toBe('gone');
      expect(state({ ActiveState: 'inactive', Job: '5' }).state).toBe('starting');
    },
  );
  const service = serviceTexts(systemdService(cluster));
  it('a unit that systemctl cannot show is unknown', () => {
    expect(service.stateFrom(done({ code: 1, stderr: 'no bus\n' }), member, false)).toEqual({
      ...{ state: 'unknown', reason: naming('systemctl', 'no bus') },
    });
    expect(service.stateFrom(done({ stdout: 'ActiveState=active\nMainPID=9' }), member, false)).toEqual({
      ...{ state: 'running', pid: 9 },
    });
  });
  it('a unit is stopped and killed within the time', () => {
    expect(service.stop(member, 500)).toContain('[ $i -gt 5 ] && exit 1');
    expect(service.kill(member)).toContain('[ $i -gt 100 ] && exit 1');
  });
  it('gets its program by a drop-in, or by its path', () => {
    const activate = (which: 'old' | 'new', given?: Placement, spec = member) =>
      service.activate?.(spec, which, given);
    const whole = placement({ program: '/p', program_sha256: 'a' }, { program: '/n', program_sha256: 'b' });
    expect(activate('new', { ...whole, next: { ...whole.next, drop_in: '/d.conf' } })).toContain(
      "D='/d.conf'",
    );
    expect(activate('old', { ...whole, next: { ...whole.next, drop_in: '/d.conf' } })).toBe(
      "rm -f '/d.conf' && systemctl daemon-reload",
    );
    const path = { ...member, binary_path: '/usr/bin/etcd' };
    expect(activate('new', whole, path)).toContain(`put '/n' "$P"`);
    expect(activate('new', whole, path)).toContain(`[ "$(digest "$P" 2>/dev/null)" != 'b' ] || exit 0`);
    expect(activate('new', whole, path)).not.toContain('ln -s');
    expect(activate('old', whole, path)).toContain(`put '/p' "$P"`);
    const link = placement(
      { program: '/p', program_sha256: 'a', link_target: 'etcd-3.4' },
      { program: '/n' },
    );
    expect(activate('old', link, path)).toContain(`ln -s -- 'etcd-3.4' "$P.incoming"`);
    expect(activate('new', link, path)).not.toContain('ln -s');
    expect(activate('old', whole, path)).not.toContain('ln -s');
  });
  it('a unit without a record gets the program of the cluster file', () => {
    const activate = (which: 'old' | 'new', spec: MemberSpec, given?: Placement) =>
      service.activate?.(spec, which, given);
    const path = { ...member, binary_path: '/usr/bin/etcd', old_binary: '/old' };
    expect(activate('new', path)).toBe('true');
    expect(activate('old', path)).toContain("put '/old' '/usr/bin/etcd'");
    expect(activate('old', { ...member, binary_path: '/usr/bin/etcd' })).toBe('true');
    expect(activate('old', { ...member, old_binary: '/old' })).toBe('true');
    expect(activate('new', path, placement({ program: '/p' }, {}))).toBe('true');
    expect(activate('new', path, placement({}, { program: '/n' }))).toBe('true');
  });
  it('keeps a staged program that a drop-in selects', () => {
    const discard = (next: object) => service.discard?.(member, placement({}, next));
    expect(discard({})).toBe('true');
    expect(discard({ program: '/n' })).toBe("[ -e '/nonexistent' ] || rm -f '/n'");
    expect(discard({ program: '/n', drop_in: '/d' })).toBe("[ -e '/d' ] || rm -f '/n'");
  });
  it('a unit stages no file if no program is named, and reports the location', () => {
    const stage = (patch: object) =>
      service.stage?.({ ...member, ...patch }, { from: '3.4', to: '3.5', run: 'r' });
    expect(stage({})).toBe('true');
    expect(stage({ new_binary: '/n' })).toContain('/etc/systemd/system/kv.service.d/90-opsctl-3.5.conf');
    expect(stage({ new_binary: '/n', binary_path: '/usr/bin/etcd' })).toContain('previous.link_target=');
    expect(stage({ new_binary: '/n', binary_path: '/usr/bin/etcd' })).not.toContain('90-opsctl');
  });
  it('a unit is described by the commands of a person', () => {
    const told = (kind: 'stop' | 'start' | 'gate', patch: object = {}) =>
      service.describe(kind, { ...member, ...patch }, 'new');
    expect([told('stop'), told('start'), told('gate')]).toEqual([
      ...[[naming('stop', 'kv.service')], [naming('start', 'kv.service')], []],
    ]);
    expect(told('start', { new_binary: '/n' })[0]).toEqual(naming('kv.service', 'ExecStart', '/n'));
    expect(told('start', { new_binary: '/n', binary_path: '/p' })[0]).toBe('cp -p /n /p');
    expect(service.version({ ...member, new_binary: '/n' }, 'new')).toBe("trusted '/n' && '/n' --version");
    expect(service.version({ ...member, new_binary: '/n' }, 'old')).toContain('"$S" --version');
  });
});

describe('hooks', () => {
  const hooks = {
    stop: ['down', '{name}'],
    start_new: 'up {binary} {version} {to}',
    start_old: 'up {version}',
    is_running: 'look',
  };
  const service = serviceTexts(hooksService({ ...cluster, to: '3.5', hooks }));
  const state = (code: number | null, wasStarted = false) =>
    service.stateFrom(done({ code, stderr: 'why' }), member, wasStarted).state;
  it('the exit code of is_running is a state', () => {
    expect([0, 75, 77, null, 74, 76, 78, 1].map((code) => state(code))).toEqual([
      ...['running', 'starting', 'unknown', 'unknown', 'gone', 'gone', 'gone', 'gone'],
    ]);
    expect([state(1, true), state(0, true), state(77, true)]).toEqual(['starting', 'running', 'unknown']);
  });
  it('hooks are completed with values', () => {
    expect(hookLine(service.start({ ...member, new_binary: '/n' }, 'new', undefined))).toBe('up /n new 3.5');
    expect(hookLine(service.start(member, 'old', undefined))).toBe('up old');
    expect(service.describe('start', member, 'old')).toEqual(['up old']);
    expect([service.describe('stop', member, 'old'), service.describe('gate', member, 'old')]).toEqual([
      ['down n1'],
      [],
    ]);
    expect(service.version({ ...member, old_binary: '/o' }, 'old')).toBe("trusted '/o' && '/o' --version");
    expect(service.logTail(member, 3)).toBe('true');
    expect(service.look(member)).toBe('look');
  });
  it('a stop waits for is_running, which may be undecided', () => {
    expect(service.stop(member, 100)).toContain('[ $c -ne 0 ] && [ $c -ne 75 ] && [ $c -ne 77 ]');
    const blind = serviceTexts(hooksService({ ...cluster, hooks: { stop: 'down' } }));
    expect([blind.stop(member, 100), blind.look(member)]).toEqual(['( down ) || exit 3; exit 0', 'exit 77']);
  });
  it('a kill waits for is_running as a stop does, and fails if the process continues to run', () => {
    const hooks = { kill: 'end it', is_running: 'ask' };
    const kill = serviceTexts(hooksService({ ...cluster, hooks })).kill(member);
    expect(kill).toMatch(/^\( end it \) \|\| exit \$\?\n/);
    expect(kill).toContain('( ask ) >/dev/null 2>&1; c=$?; [ $c -ne 0 ] && [ $c -ne 75 ] && [ $c -ne 77 ]');
    expect(kill).toMatch(/has not ended' >&2; exit 1; \}$/);
    expect(serviceTexts(hooksService({ ...cluster, hooks: { kill: 'end it' } })).kill(member)).toBe('end it');
  });
});

describe('a static pod', () => {
  const service = serviceTexts(staticPodService(cluster));
  const state = (stdout: string, code = 0) =>
    service.stateFrom(done({ code, stdout, stderr: 'why' }), member, false);
  it('runs, is awaited, or is gone', () => {
    expect([state('pid=2\nmanifest=true'), state('pid=1\nmanifest=true').state]).toEqual([
      { state: 'running', pid: 2 },
      'starting',
    ]);
    expect([state('manifest=false').state, state('', 1).state]).toEqual(['gone', 'unknown']);
    expect(state('manifest=true')).toEqual({
      state: 'starting',
      awaits: naming('kubelet', 'manifest'),
    });
  });
  it('a kill waits until no process uses the data directory, and fails if one continues to run', () => {
    const kill = service.kill(member);
    expect(kill).toMatch(/kill -KILL "\$pid"; done\n\( i=0\nwhile ! \{ ! \[ -n /);
    expect(kill).toMatch(/has not ended' >&2; exit 1; \}$/);
  });
  it('starts with the manifest that was recorded for that version', () => {
    const given = placement({ manifest: '/old.yaml' }, { manifest: '/new.yaml' });
    expect(service.start(member, 'new', given)).toContain("source='/new.yaml'");
    expect(service.start(member, 'old', given)).toContain("source='/old.yaml'");
    expect(service.start(member, 'old', undefined)).toContain('opsctl-parked');
    expect(service.discard?.(member, given)).toBe("rm -f '/new.yaml'");
    expect(service.discard?.(member, placement({}, {}))).toBe('true');
    expect(service.logTail(member, 3)).toBe('true');
    expect(service.logTail({ ...member, log_file: '/l' }, 3)).toBe("tail -n 3 '/l'");
  });
});
