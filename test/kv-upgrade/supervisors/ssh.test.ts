import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { framed, unframed } from '../../../src/kv-upgrade/supervisors/framed.ts';
import { openDriver } from '../../../src/kv-upgrade/supervisors/open.ts';
import type { MemberSpec } from '../../../src/kv-upgrade/types.ts';
import { withFasterClock } from '../../support/faster-clock.ts';
import { programHost } from '../../support/programs.ts';
import type { ProgramHost } from '../../support/programs.ts';

let real: ProgramHost;
beforeEach(async () => {
  real = await programHost();
});
afterEach(() => real.close());

/** ssh without ssh: `before` runs first and sees the words of ssh; the script runs in a shell here. */
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

describe('what a login shell prints', () => {
  const noise = 'echo "Welcome to kv-host"; echo "motd" >&2';
  it('never reaches data: a configuration file is read and written as it is', async () => {
    ssh(noise);
    const text = 'name: n1\n\n# end without a newline';
    writeFileSync(real.at("it's.yaml"), text);
    const driver = await open();
    const path = member().config_file as string;
    expect(await driver.readFile(member(), path)).toBe(text);
    await driver.writeFile(member(), path, `${text} x`);
    expect(readFileSync(path, 'utf8')).toBe(`${text} x`);
    expect(await driver.readFile(member(), real.at('nothing'))).toBeUndefined();
  });
  it('is no state of a unit, and no reason of a failure', async () => {
    ssh(`echo ActiveState=active; echo MainPID=42; ${noise}`);
    real.program('systemctl', 'echo LoadState=loaded; echo ActiveState=inactive; echo Job=');
    const driver = await open();
    expect(await driver.process(member())).toEqual({ state: 'gone', reason: 'kv.service is inactive' });
    real.program('systemctl', 'echo "no such unit" >&2; exit 4');
    await expect(driver.start(member(), 'new')).rejects.toThrow('(exit code 4: no such unit)');
  });
  it('a script that read standard input would not eat its own end', async () => {
    const done = await real.host.processes.run('/bin/sh', ['-s'], { input: framed('cat; exit 3', 'm') });
    expect(unframed(done, 'm')).toMatchObject({ kind: 'whole', done: { code: 3, stdout: '' } });
  });
  it.each([
    ['nothing', '', 'not-begun'],
    ['no end', 'm\nhalf', 'cut'],
    ['another end', 'm\nx\nmm 0\n', 'cut'],
  ])('%s is no answer', (_, stdout, kind) =>
    expect(unframed({ code: 0, signal: null, stdout, stderr: '', timedOut: false }, 'm').kind).toBe(kind),
  );
});

describe('a connection that drops', () => {
  const systemctl = (): void =>
    void real.program(
      'systemctl',
      `echo "$1" >> ${real.at('calls')}
case "$*" in *--value*) echo inactive;; show*) echo LoadState=loaded; echo ActiveState=inactive; echo Job=;; esac`,
    );
  it('between stop and start is made again, and the member is started', async () => {
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
  });
  it('for longer than the grace period says that the member may be down', async () => {
    ssh('exit 255');
    const driver = await open();
    await expect(driver.stop(member(), 1000)).rejects.toMatchObject({
      message: 'n1 may be down: h1: ssh: the connection ended',
      detail: { code: 'MEMBER_MAY_BE_DOWN' },
    });
  });
  it('in the middle of an answer is not taken for the answer', async () => {
    ssh('cat > /dev/null; echo half; exit 0');
    expect((await (await open()).process(member())).state).toBe('unknown');
  });
});

describe('the sockets of connections', () => {
  const words = (): string => readFileSync(real.at('words'), 'utf8');
  it('are in a private directory with a short name', async () => {
    ssh('');
    await (await open()).process(member());
    expect(words()).toMatch(new RegExp(`ControlPath=${real.at('state')}/ssh/[0-9a-f]{12} `));
  });
  it('are not used where others may write, or where their names would be too long', async () => {
    ssh('');
    mkdirSync(real.at('open/ssh'), { recursive: true, mode: 0o777 });
    await real.host.files.setMode(real.at('open/ssh'), 0o777);
    await (await open(1, real.at('open'))).process(member());
    expect(words()).toContain('ControlPath=none');
    writeFileSync(real.at('words'), '');
    await (await open(1, real.at('x'.repeat(80)))).process(member());
    expect(words()).toContain('ControlPath=none');
  });
});
