import { trustCall } from '../../../../src/core/program-call.ts';
import { sh } from '../../../../src/core/shell.ts';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { beforeEach, describe, expect, it } from 'vitest';
import { frameScript, unframeOutput } from '../../../../src/kv/upgrade/supervisors/ssh.ts';
import { openDriver } from '../../../../src/kv/upgrade/supervisors/open.ts';
import type { MemberSpec } from '../../../../src/kv/engine/model.ts';
import { withFasterClock } from '../../../support/faster-clock.ts';
import { programHost, type ProgramHost } from '../../../support/programs.ts';
import { patient } from '../../../support/real-host.ts';
import { covers } from '../../../support/covers.ts';

let real: ProgramHost;
beforeEach(async () => {
  real = patient(await programHost());
});

/** A replacement of ssh: `before` runs first with the ssh arguments, and the script runs in a local shell. */
const ssh = (before: string): void =>
  void real.program(
    'ssh',
    `case " $* " in *" -O "*) exit 0;; esac
echo "$*" >> ${real.at('words')}
${before}
while [ "$1" != -- ]; do shift; done; shift 2; exec /bin/sh -c "$*"`,
  );
const member = (): MemberSpec => ({
  name: 'n1',
  client_url: 'http://127.0.0.1:2379',
  host: 'h1',
  unit: 'kv.service',
  config_file: real.at("it's.yaml"),
});
const open = (stop_seconds = 1, state = real.at('state')) =>
  openDriver(
    withFasterClock(real.host, 10),
    {
      name: 'c',
      driver: 'ssh',
      // biome-ignore lint/suspicious/noThenProperty: a key of the cluster file
      ssh: { then: 'systemd' },
      timeouts: { stop_seconds },
      members: [member()],
    },
    state,
  );

describe('output of a login shell', () => {
  const noise = 'echo "Welcome to kv-host"; echo "motd" >&2';
  it(
    'login output never reaches data: a configuration file is read and written unchanged',
    covers('defect/U-7', 'spec/store#measured-service-managers-6'),
    async () => {
      ssh(noise);
      const text = 'name: n1\n\n# end without a newline';
      writeFileSync(real.at("it's.yaml"), text);
      const driver = await open();
      const path = member().config_file as string;
      expect(await driver.readFile(member(), path)).toBe(text);
      await driver.writeFile(member(), path, `${text} x`);
      expect(readFileSync(path, 'utf8')).toBe(`${text} x`);
      expect(await driver.readFile(member(), real.at('nothing'))).toBeUndefined();
    },
  );
  it('login output is not the state of a unit, and not the reason of a failure', async () => {
    ssh(`echo ActiveState=active; echo MainPID=42; ${noise}`);
    real.program('systemctl', 'echo LoadState=loaded; echo ActiveState=inactive; echo Job=');
    const driver = await open();
    expect(await driver.process(member())).toEqual({ state: 'gone', reason: 'kv.service is inactive' });
    real.program('systemctl', 'echo "no such unit" >&2; exit 4');
    await expect(driver.start(member(), 'new')).rejects.toThrow('(exit code 4: no such unit)');
  });
  it('a script that read standard input would not eat its own end', async () => {
    const done = await real.host.processes.run(...trustCall(['/bin/sh', '-s']), {
      input: String(frameScript(sh`cat; exit 3`, 'm')),
    });
    expect(unframeOutput(done, 'm')).toMatchObject({ kind: 'whole', done: { code: 3, stdout: '' } });
  });
  it.each([
    ['nothing', '', 'not-begun'],
    ['no end', 'm\nhalf', 'cut'],
    ['another end', 'm\nx\nmm 0\n', 'cut'],
  ])('%s is not a valid response', (_, stdout, kind) =>
    expect(unframeOutput({ code: 0, signal: null, stdout, stderr: '', timedOut: false }, 'm').kind).toBe(
      kind,
    ),
  );
});

describe('a connection that drops', () => {
  const systemctl = (): void =>
    void real.program(
      'systemctl',
      `echo "$1" >> ${real.at('calls')}
case "$*" in *--value*) echo inactive;; show*) echo LoadState=loaded; echo ActiveState=inactive; echo Job=;; esac`,
    );
  it(
    'a connection that drops between stop and start is repeated, and the member is started',
    covers('defect/U-16'),
    async () => {
      systemctl();
      ssh(`n=$(cat ${real.at('n')} 2>/dev/null || echo 0); echo $((n+1)) > ${real.at('n')}
[ "$n" = 1 ] || [ "$n" = 2 ] && { echo "Connection reset" >&2; exit 255; }`);
      const driver = await open(60);
      expect(await driver.stop(member(), 1000)).toBe(true);
      await driver.start(member(), 'new');
      expect(
        readFileSync(real.at('calls'), 'utf8')
          .split('\n')
          .filter((one) => one === 'start'),
      ).toHaveLength(1);
    },
  );
  it(
    'a connection lost for longer than the grace period reports that the member may be down',
    covers('defect/U-17'),
    async () => {
      ssh('exit 255');
      const driver = await open();
      await expect(driver.stop(member(), 1000)).rejects.toMatchObject({
        message: 'n1 may be down: h1: ssh: the connection ended',
        detail: { code: 'MEMBER_MAY_BE_DOWN' },
      });
    },
  );
  /** The first `count` connections fail. */
  const failing = (count: number): void =>
    ssh(`n=$(cat ${real.at('n')} 2>/dev/null || echo 0); echo $((n+1)) > ${real.at('n')}
[ "$n" -ge ${count} ] || { echo "Connection reset" >&2; exit 255; }`);
  const move = { from: '3.3', to: '3.4', run: 'r' } as const;
  it('a connection that drops while the new version is staged is repeated', async () => {
    failing(2);
    writeFileSync(real.at("it's.yaml"), 'name: n1');
    expect(await (await open(60)).stage(member(), move)).toMatchObject({ member: 'n1' });
  });
  it('a connection lost during staging for longer than the grace period leaves the member running', async () => {
    ssh('exit 255');
    await expect((await open()).stage(member(), move)).rejects.toMatchObject({
      message: 'n1 was not stopped: h1: ssh: the connection ended',
      category: 'stopped',
      detail: { code: 'SSH' },
    });
  });
  it('a run repeats a lost inspection; a check reports the last observation immediately', async () => {
    systemctl();
    failing(2);
    const driver = await open(60);
    expect((await driver.facts(member(), { sizes: false })).is_unreachable).toBe(true);
    failing(4);
    expect((await driver.facts(member(), { sizes: false, isPatient: true })).is_unreachable).toBeUndefined();
  });
  it('a response that is interrupted in the middle does not count', async () => {
    ssh('cat > /dev/null; echo half; exit 0');
    expect((await (await open()).process(member())).state).toBe('unknown');
  });
});

describe('a command as a person would run it', () => {
  const shown = async (more: Record<string, unknown>): Promise<string> => {
    const one: MemberSpec = { ...member(), pid_file: real.at("it's a.pid") };
    // biome-ignore lint/suspicious/noThenProperty: a key of the cluster file
    const cluster = { name: 'c', driver: 'ssh', ssh: { then: 'local', ...more }, members: [one] } as const;
    const [line = ''] = (await openDriver(real.host, cluster)).describe('stop', one, 'old');
    return line;
  };
  /**
   * Pastes the line into a local shell and returns the arguments that reach the remote side, without running
   * them. A local shell would not find the pid file.
   */
  const pasted = async (line: string): Promise<string> => {
    real.program('ssh', `for last; do :; done; printf %s "$last" > ${real.at('there')}`);
    const done = await real.host.processes.run(...trustCall(['/bin/sh', '-c', line]));
    expect(done).toMatchObject({ code: 0, stderr: '' });
    return readFileSync(real.at('there'), 'utf8');
  };
  it('a command for a person is one word that only the remote side expands', async () => {
    const line = await shown({});
    expect(await pasted(line)).toBe(`kill -TERM "$(cat '${real.at("it'\\''s a.pid")}')"`);
  });
  it('a command for a person becomes root there, through the jump host, if configured', async () => {
    const line = await shown({ sudo: true, proxy_jump: 'jump' });
    expect(line).toMatch(/^ssh -J jump h1 'sudo -n \/bin\/sh -c /);
    expect(await pasted(line)).toMatch(/^sudo -n \/bin\/sh -c 'kill -TERM "\$\(cat /);
  });
  it('a command for a person without an expansion is shown unchanged', async () => {
    expect((await open()).describe('stop', member(), 'old')).toEqual(['ssh h1 systemctl stop kv.service']);
  });
});

describe('the sockets of connections', () => {
  const words = (): string => readFileSync(real.at('words'), 'utf8');
  it(
    'sockets are in a private directory with a short name',
    covers('defect/D2-1', 'defect/U-18', 'defect/R-3'),
    async () => {
      ssh('');
      await (await open()).process(member());
      expect(words()).toMatch(new RegExp(`ControlPath=${real.at('state')}/ssh/[0-9a-f]{12} `));
    },
  );
  it(
    'sockets are not used if others may write, or if their names would be too long',
    covers('defect/U-19'),
    async () => {
      ssh('');
      mkdirSync(real.at('open/ssh'), { recursive: true, mode: 0o777 });
      await real.host.files.setMode(real.at('open/ssh'), 0o777);
      await (await open(1, real.at('open'))).process(member());
      expect(words()).toContain('ControlPath=none');
      writeFileSync(real.at('words'), '');
      await (await open(1, real.at('x'.repeat(80)))).process(member());
      expect(words()).toContain('ControlPath=none');
    },
  );
});
