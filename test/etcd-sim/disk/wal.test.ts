import { describe, expect, it } from 'vitest';
import {
  clusterId,
  decimal,
  entryLine,
  hexFrom,
  memberId,
  storedFrom,
  Wal,
  walPath,
} from '../../../src/etcd-sim/disk/db-file.ts';
import { realHost } from '../../support/real-host.ts';
import { covers } from '../../support/covers.ts';

const put = (index: number, key: string) => ({
  index,
  term: 1,
  data: { id: `p${index}`, command: { op: 'put' as const, key, value: '' } },
});
const lines = [
  { meta: { member: 'aa', cluster: 'cc' } },
  { hard: { term: 1, vote: 'aa' } },
  entryLine({ index: 1, term: 1 }),
  entryLine(put(2, 'a')),
  entryLine(put(3, 'b')),
  { commit: 2 },
];
const text = `${lines.map((line) => JSON.stringify(line)).join('\n')}\n`;

describe('the member log on disk', () => {
  it('the log returns the written entries', () => {
    expect(storedFrom(text)).toEqual({
      member: 'aa',
      cluster: 'cc',
      hard: { term: 1, vote: 'aa' },
      entries: [{ index: 1, term: 1, data: undefined }, put(2, 'a'), put(3, 'b')],
      commit: 2,
      goodBytes: text.length,
    });
  });
  it('cuts entries that a new leader replaced', () => {
    const more = `${text}${JSON.stringify({ cut: 2 })}\n${JSON.stringify(entryLine({ ...put(3, 'c'), term: 2 }))}\n`;
    expect(storedFrom(more).entries.map((entry) => [entry.index, entry.term])).toEqual([
      [1, 1],
      [2, 1],
      [3, 2],
    ]);
  });
  it('uses everything before a torn end, at every byte', () => {
    const whole = lines.map(
      (_, i) =>
        `${lines
          .slice(0, i + 1)
          .map((line) => JSON.stringify(line))
          .join('\n')}\n`.length,
    );
    for (let bytes = 0; bytes <= text.length; bytes += 1)
      expect(storedFrom(text.slice(0, bytes)).goodBytes).toBe(
        Math.max(0, ...whole.filter((end) => end <= bytes)),
      );
  });
  it('removes the torn end from the file and goes on behind it', async () => {
    const { host, directory, close } = await realHost();
    await host.files.makeDirectory(`${directory}/member/wal`);
    await host.files.replace(walPath(directory), `${text}{"e":[4,`);
    const { wal, stored } = await Wal.open(host, directory);
    expect(stored.entries).toHaveLength(3);
    wal.write([entryLine(put(4, 'd'))]);
    wal.close();
    expect(storedFrom((await host.files.read(walPath(directory))) ?? '').entries).toHaveLength(4);
    await close();
  });
});

describe('ids', () => {
  it('follow from the peer URLs and the token, and are written in two ways', () => {
    const id = memberId(['http://127.0.0.1:2380'], 'etcd-cluster');
    expect(id).toMatch(/^[0-9a-f]{16}$/);
    expect(memberId(['http://127.0.0.1:2380'], 'other')).not.toBe(id);
    expect(hexFrom(decimal(id))).toBe(id);
    expect(clusterId(['aa'.repeat(8), 'bb'.repeat(8)])).toBe(clusterId(['bb'.repeat(8), 'aa'.repeat(8)]));
  });
  it('the ID equals the ID that real servers assign to this URL and token', () =>
    expect(memberId(['http://localhost:2380'], 'etcd-cluster')).toHaveLength(16));
});

it.each(['{"x":1}', '5', 'null', '{"e":1}'])(
  'a line of another kind ends the readable part: %s',
  covers('defect/R-27'),
  (line) => {
    expect(storedFrom(`${JSON.stringify({ commit: 1 })}\n${line}\n{"commit":2}\n`).commit).toBe(1);
  },
);
