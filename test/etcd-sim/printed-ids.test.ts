import { expect, it } from 'vitest';
import { type Form, formOf, memberLog, printedIds } from '../../src/etcd-sim/forms.ts';
import { fakeHost } from '../support/fake-host.ts';

it.each([
  ['peer 0a3c1f2b4d5e6f70 became inactive', 'peer a3c1f2b4d5e6f70 became inactive'],
  ['Local="00000000000000ff",Remote="ff00000000000000"', 'Local="ff",Remote="ff00000000000000"'],
  [
    'revision 0012 of 127.0.0.1:02380 and 0a3c1f2b4d5e6f7',
    'revision 0012 of 127.0.0.1:02380 and 0a3c1f2b4d5e6f7',
  ],
  ['raft index 1000000000000000', 'raft index 1000000000000000'],
])('%s is printed as a real server prints it', (text, printed) => {
  expect(printedIds(text)).toBe(printed);
});

it.each(['3.2.32', '3.5.16'])('the log of %s contains IDs without leading zeros', (version) => {
  const host = fakeHost();
  memberLog(host, formOf(version) as Form)('I', 'rafthttp', 'peer 0a3c1f2b4d5e6f70 became inactive');
  expect(host.err()).toContain('peer a3c1f2b4d5e6f70 became inactive');
});
