import { expect, it } from 'vitest';
import {
  findServers,
  emptyEnvironment,
  serversInScript,
} from '../../../../src/kv/upgrade/configuration/server-command.ts';

const quota = 'export ETCD_QUOTA_BACKEND_BYTES=5';
it.each([
  [`if a; then if b; then c; fi; ${quota}; fi; etcd`, true],
  [`for i in a b; do if c; then d; fi; ${quota}; done; etcd`, true],
  [`while a; do case $x in b) c;; esac; ${quota}; done; etcd`, true],
  [`if a; then if b; then c; fi fi; ${quota}; etcd`, false],
  [`echo if; ${quota}; etcd`, false],
  [`fi; ${quota}; etcd`, false],
])('the variable of %j depends on a condition: %s', (text, isUnknown) => {
  const [server] = serversInScript(text, emptyEnvironment);
  expect(server?.env['ETCD_QUOTA_BACKEND_BYTES']).toBe(isUnknown ? undefined : '5');
  expect(server?.unread).toEqual(isUnknown ? ['variable ETCD_QUOTA_BACKEND_BYTES'] : []);
});

it.each([
  ['prlimit --nofile=65536 /usr/bin/etcd --name a'],
  ['prlimit --nofile=65536 etcd --name a'],
  ['prlimit --nofile etcd --name a'],
  ['prlimit -n=1:2 -l etcd --name a'],
  ['prlimit -n65536 --core=0: -o NAME etcd --name a'],
])('%s starts a server that opsctl reads completely', (line) => {
  expect(findServers(line.split(' '), emptyEnvironment)).toMatchObject([{ unread: [] }]);
});

it.each([
  ['docker run -e --net=host img etcd --name a', ['variable --net=host']],
  ['docker run -e A.b=1 img etcd --name a', []],
])('a flag in the place of a variable is not a variable: %s', (line, unread) => {
  expect(findServers(line.split(' '), emptyEnvironment)).toMatchObject([{ unread }]);
});
