import { describe, expect, it } from 'vitest';
import { sh } from '../../../../src/core/shell.ts';
import { openSsh, sshShell } from '../../../../src/kv/upgrade/supervisors/ssh.ts';
import type { AppError } from '../../../../src/core/problem.ts';
import type { Finished } from '../../../../src/platform/host.ts';
import type { ClusterFile, MemberSpec } from '../../../../src/kv/engine/model.ts';
import { fakeHost, type Ran } from '../../../support/fake-host.ts';
import { naming, errorWith } from '../../../support/facts.ts';
import { covers } from '../../../support/covers.ts';

const member: MemberSpec = { name: 'n1', client_url: 'http://h:2379' };
const cluster: ClusterFile = { name: 'c', members: [member] };

describe('ssh', () => {
  const on: MemberSpec = { ...member, host: 'h1' };
  const shell = (
    answer: (ran: Ran) => Partial<Finished>,
    ssh: object = {},
    env: Record<string, string> = {},
  ) => {
    const host = fakeHost({ run: answer, env });
    return { host, shell: sshShell(openSsh(host, { ...cluster, driver: 'ssh', ssh }, undefined), on) };
  };
  /** Returns the remote output of a script that exits with this code. */
  const whole = ({ options: { input = '' } }: Ran, code = 0, out = '', err = ''): Partial<Finished> => {
    const mark = /^echo (\S+)/.exec(String(input))?.[1];
    return { stdout: `motd\n${mark}\n${out}\n${mark} ${code}\n`, stderr: `${mark}\n${err}` };
  };
  it('ssh runs a script in a remote shell, as root if the cluster file configures it', async () => {
    const plain = shell((ran) => whole(ran, 3, 'out', 'err'));
    expect(await plain.shell.run(sh`true`)).toMatchObject({ code: 3, stdout: 'out', stderr: 'err' });
    const [first] = plain.host.ran;
    expect(first?.args.slice(-3)).toEqual(['--', 'h1', '/bin/sh -s']);
    expect([first?.options.timeoutMs, first?.args.includes('ControlPath=none')]).toEqual([10_000, true]);
    const root = shell((ran) => whole(ran), { sudo: true });
    await root.shell.run(sh`true`, { timeoutMs: 5 });
    expect(root.host.ran[0]?.args.at(-1)).toBe('sudo -n /bin/sh -s');
    expect(root.host.ran[0]?.options.timeoutMs).toBe(5);
  });
  it(
    'ssh aborts a failed connection, and reports the reason',
    covers('spec/store#measured-service-managers-6'),
    async () => {
      const said = async (patch: Partial<Finished>) => {
        const some = shell(() => patch);
        const error = await some.shell.run(sh`true`).catch((one: unknown) => one);
        return [(error as AppError).message, some.host.ran[1]?.args.slice(-4)];
      };
      const exit = ['-O', 'exit', '--', 'h1'];
      expect(await said({ code: 255, stderr: 'a\nrefused\n' })).toEqual(['h1: ssh: refused', exit]);
      expect(await said({ code: 255 })).toEqual([naming('h1', 'ssh', 'connection'), exit]);
      expect(await said({ code: null, timedOut: true })).toEqual([
        naming('h1', 'ssh', '10', 'response'),
        exit,
      ]);
      expect(await said({ code: 0, stdout: '' })).toEqual([
        naming('h1', 'ssh', 'run', '/bin/sh', 'exit', '0'),
        undefined,
      ]);
      expect(await said({ code: 127, stderr: 'x\nno sh\n' })).toEqual([
        ...[naming('h1', 'ssh', 'run', '/bin/sh', 'exit', '127'), undefined],
      ]);
      expect(await said({ code: null, startError: 'ENOENT' })).toEqual([naming('ssh', 'ENOENT'), undefined]);
      const half = shell((ran) => ({ stdout: (whole(ran).stdout ?? '').slice(0, -3) }));
      await expect(half.shell.run(sh`true`)).rejects.toThrow(errorWith('SSH', 'connection', 'lost'));
      expect(half.host.ran).toHaveLength(1);
    },
  );
  it('a file that could not be sent is not left behind', async () => {
    const sent = shell((ran) => (ran.options.inputFile === undefined ? whole(ran) : {}));
    const { path, remove } = await sent.shell.send('/here', '/there');
    expect([path, sent.host.ran.length]).toEqual(['/there', 1]);
    expect(sent.host.ran[0]?.options).toMatchObject({ inputFile: '/here', timeoutMs: 3_600_000 });
    await remove();
    expect(sent.host.ran[1]?.options.input).toContain("rm -f '/there'");
    const failed = shell((ran) =>
      ran.options.inputFile === undefined ? whole(ran) : { code: 1, stderr: 'x\nfull\n' },
    );
    await expect(failed.shell.send('/here', '/there')).rejects.toMatchObject({
      ...{ message: 'h1: cannot send /here: full', detail: { code: 'SSH' } },
    });
    expect(failed.host.ran[1]?.options.input).toContain("rm -f '/there'");
  });
  it('ssh is shown as a person would type it', () => {
    const shown = (command: string, ssh = {}) => shell(() => ({}), ssh).shell.display(command);
    expect(shown('systemctl stop kv')).toBe('ssh h1 systemctl stop kv');
    expect(shown('echo "$x"')).toBe('ssh h1 \'echo "$x"\'');
    expect(shown("echo 'a'")).toBe("ssh h1 'echo '\\''a'\\'''");
    expect(shown('a *')).toBe("ssh h1 'a *'");
    expect(shown('id', { sudo: true, proxy_jump: 'j', options: ['-p', '2'] })).toBe(
      'ssh -J j -p 2 h1 sudo -n /bin/sh -c id',
    );
  });
  it('keeps its sockets in the private directory of the session', async () => {
    const some = shell((ran) => whole(ran), {}, { XDG_RUNTIME_DIR: '/run/user/1000' });
    await some.shell.run(sh`true`);
    expect(some.host.ran[0]?.args.join(' ')).toMatch(/ControlPath=\/run\/user\/1000\/opsctl\/[0-9a-f]{12} /);
    const relative = shell((ran) => whole(ran), {}, { XDG_RUNTIME_DIR: 'run' });
    await relative.shell.run(sh`true`);
    expect(relative.host.ran[0]?.args).toContain('ControlPath=none');
  });
  it('sockets have names of at most 87 bytes', async () => {
    const used = async (length: number) => {
      // The name adds a slash and twelve letters.
      const some = shell(
        (ran) => whole(ran),
        {},
        { XDG_RUNTIME_DIR: `/${'x'.repeat(length - 13 - '//opsctl'.length)}` },
      );
      await some.shell.run(sh`true`);
      return !some.host.ran[0]?.args.includes('ControlPath=none');
    };
    expect([await used(87), await used(88)]).toEqual([true, false]);
  });
});
