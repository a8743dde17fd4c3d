import { expect, it } from 'vitest';
import { shellLine } from '../../../../src/core/shell.ts';
import { commandLines, planText } from '../../../../src/kv/upgrade/present/plan-text.ts';
import { planFrom } from '../../../../src/kv/upgrade/plan.ts';
import type { Plan } from '../../../../src/kv/engine/model.ts';
import { clusterFile, observed, planOptions } from '../../../support/observations.ts';
import { covers } from '../../../support/covers.ts';

const old =
  "/opt/3.3/etcd --name n1 --data-dir '/data/n 1' --debug --listen-client-urls http://a:1 >> /log 2>&1 &";
const fresh =
  "/opt/3.4/etcd --name n1 --data-dir '/data/n 1' --log-level debug --listen-client-urls http://a:1 >> /log 2>&1 &";

it('a replaced command is shown as its changes, a flag with its value', covers('defect/U-62'), () => {
  expect(commandLines({ commands: [fresh], replaces: [old] }, false)).toEqual([
    '  - /opt/3.3/etcd',
    '  - --debug',
    '  + /opt/3.4/etcd',
    '  + --log-level debug',
    '    7 flags and arguments are unchanged; -v shows the complete command',
  ]);
});
it('the number of unchanged parts is shown, if there are any', () => {
  expect(commandLines({ commands: ['new/etcd --a'], replaces: ['old/etcd --a'] }, false)).toEqual([
    '  - old/etcd',
    '  + new/etcd',
    '    1 flag or argument is unchanged; -v shows the complete command',
  ]);
  expect(commandLines({ commands: ['new/etcd'], replaces: ['old/etcd'] }, false)).toEqual([
    '  - old/etcd',
    '  + new/etcd',
  ]);
});
it('over ssh the words of the command are compared, not the one word that ssh gets', () => {
  const over = (line: string): string => `ssh h1 ${shellLine([`sudo -n /bin/sh -c ${shellLine([line])}`])}`;
  expect(commandLines({ commands: [over(fresh)], replaces: [over(old)] }, false).slice(0, 4)).toEqual([
    '  - /opt/3.3/etcd',
    '  - --debug',
    '  + /opt/3.4/etcd',
    '  + --log-level debug',
  ]);
});
it('on request, unchanged, or without a predecessor the whole command is shown for copying', () => {
  expect(commandLines({ commands: [fresh], replaces: [old] }, true)).toEqual([`  $ ${fresh}`]);
  expect(commandLines({ commands: ['systemctl start a'], replaces: ['systemctl start a'] }, false)).toEqual([
    '  $ systemctl start a',
  ]);
  expect(commandLines({ commands: [fresh] }, false)).toEqual([`  $ ${fresh}`]);
  expect(commandLines({ commands: [fresh, 'b'], replaces: [old] }, false)).toEqual([`  $ ${fresh}`, '  $ b']);
});
it('a flag that is there twice counts twice', () => {
  expect(commandLines({ commands: ['e --x 1'], replaces: ['e --x 1 --x 1'] }, false)).toContain('  - --x 1');
});

const described = planFrom({
  observation: observed(),
  cluster: clusterFile(),
  options: planOptions(),
  describe: (kind, { name }, which) => (kind === 'start' ? [`/opt/${which}/etcd --name ${name} --a b`] : []),
  id: 'run',
}) as Plan;
it('the plan shows the changes of each start; with -v the whole command', () => {
  const short = planText(described);
  expect(short).toContain('- /opt/old/etcd');
  expect(short).toContain('+ /opt/new/etcd');
  expect(short).not.toContain('--a b');
  expect(planText(described, { isWhole: true })).toContain('$ /opt/new/etcd --name n2 --a b');
});
it('the shown command does not affect the digest of a reviewed plan', () => {
  const other = planFrom({
    observation: observed(),
    cluster: clusterFile(),
    options: planOptions(),
    describe: (kind, { name }, which) =>
      kind === 'start' ? (which === 'new' ? [`/opt/new/etcd --name ${name} --a b`] : ['other']) : [],
    id: 'run',
  }) as Plan;
  expect(other.digest).toBe(described.digest);
});
