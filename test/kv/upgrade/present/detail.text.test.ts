import { expect, test } from 'vitest';
import { detailText } from '../../../../src/kv/upgrade/present/text.ts';

test.each([
  [{ took_ms: 22 }, 'its process exited after 22 ms'],
  [{ down_ms: 102, version: '3.4.23' }, 'down 102 ms, version 3.4.23'],
  [{ path: '/a/b.db', revision: 3, size_bytes: 20_512 }, 'path /a/b.db, revision 3, 20 KiB'],
  [{ size_bytes: 5 * 1024 * 1024 }, '5.0 MiB'],
  [{ moved: true }, 'moved'],
  [{ moved: false }, 'not moved'],
  [{ waited_seconds: 120 }, 'waited 120 s'],
  [
    { changes: ['log-output → log-outputs', 'debug removed'] },
    'changes log-output → log-outputs, debug removed',
  ],
  [{ down_ms: undefined, cluster_version: '3.4.0' }, 'cluster version 3.4.0'],
  [{}, undefined],
  [undefined, undefined],
])('%j reads %j', (detail, text) => {
  expect(detailText(detail)).toBe(text);
});
