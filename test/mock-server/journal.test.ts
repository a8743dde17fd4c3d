import {
  appendFileSync,
  existsSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import type { AppendFile, Files } from '../../src/platform/host.ts';
import { AppError } from '../../src/core/problem.ts';
import { discardState, openState } from '../../src/mock-server/journal.ts';
import { type RealHost, realHost } from '../support/real-host.ts';
import { covers } from '../support/covers.ts';

type Item = { readonly id: number; readonly name?: string };
let machine: RealHost;
let directory: string;
beforeEach(async () => {
  machine = await realHost();
  directory = join(machine.directory, 'state');
});

const open = (files: Files = machine.host.files, compactAt?: number) =>
  openState(files, directory, compactAt);
const names = async (): Promise<(string | undefined)[]> => {
  const { store, journal } = await open();
  const found = [...store.collection<Item>('items').values()].map(({ name }) => name);
  await journal.close();
  return found;
};
/** Writes one transaction for each name, then discards the memory of the process as a kill would, without closing any file. */
const write = async (...given: string[]) => {
  const { store, journal } = await open();
  const items = store.collection<Item>('items');
  for (const name of given) {
    store.transact(() => items.put(store.next('ids'), { id: 0, name }));
    await journal.whenWritten();
  }
};
const journalPath = (generation = 1) => join(directory, `journal-${generation}`);

describe('the journal', () => {
  it('gives back every committed transaction, in order', async () => {
    await write('a', 'tab\tand\nline', 'Ünïcödé 🎈');
    await write('d');
    expect(await names()).toEqual(['a', 'tab\tand\nline', 'Ünïcödé 🎈', 'd']);
  });

  it('gives back deletions, numbers, text keys and bytes', async () => {
    const { store, journal } = await open();
    const bytes = Uint8Array.from({ length: 256 }, (_, i) => i);
    const [items, files] = [store.collection<Item>('items'), store.collection<unknown>('files')];
    store.transact(() => {
      items.put(1, { id: 1 });
      items.put(2, { id: 2 });
      files.put('1', bytes);
      files.put('b "quoted"', { name: 'x', content: bytes });
    });
    store.transact(() => items.delete(1));
    await journal.whenWritten();
    const again = (await open()).store;
    expect([...again.collection<Item>('items').values()]).toEqual([{ id: 2 }]);
    expect(again.collection('files').get('1')).toEqual(bytes);
    expect(again.collection('files').get('b "quoted"')).toEqual({ name: 'x', content: bytes });
    expect(again.collection('files').get(1)).toBeUndefined();
  });

  it('the journal has no change of an undone transaction', async () => {
    const { store } = await open();
    const items = store.collection<Item>('items');
    expect(() =>
      store.transact(() => {
        items.put(1, { id: 1 });
        throw new Error('no');
      }),
    ).toThrow('no');
    expect(await names()).toEqual([]);
  });

  it('the journal is readable only by its owner', async () => {
    await write('a');
    expect((await machine.host.files.info(journalPath()))?.mode).toBe(0o600);
    expect((await machine.host.files.info(directory))?.mode).toBe(0o700);
  });
});

describe('a line that was cut', () => {
  it('a cut line is dropped at any length, and writing continues after the complete lines', async () => {
    await write('a', 'b');
    const whole = readFileSync(journalPath());
    const from = whole.subarray(0, -1).lastIndexOf(10) + 1;
    for (let size = from; size < whole.length; size += 7) {
      writeFileSync(journalPath(), whole.subarray(0, size));
      expect(await names(), `cut at ${size}`).toEqual(['a']);
      expect(readFileSync(journalPath()).length).toBe(from);
    }
    await write('c');
    expect(await names()).toEqual(['a', 'c']);
  });

  it(
    'a cut line is reported with its size, and every complete line is kept',
    covers('defect/S4-14'),
    async () => {
      await write('a', 'Ünïcödé 🎈', 'tab\tand\nline', 'd');
      const given = ['a', 'Ünïcödé 🎈', 'tab\tand\nline', 'd'];
      const whole = readFileSync(journalPath());
      for (let size = 0; size <= whole.length; size += 1) {
        const kept = whole.subarray(0, size);
        writeFileSync(journalPath(), kept);
        const { journal, store, cutOff } = await open();
        await journal.whenWritten();
        const end = kept.lastIndexOf(10) + 1;
        const lines = kept.subarray(0, end).toString('latin1').split('\n').length - 2;
        const found = [...store.collection<Item>('items').values()].map(({ name }) => name);
        expect(found, `cut at ${size}`).toEqual(given.slice(0, Math.max(0, lines)));
        expect(cutOff, `cut at ${size}`).toEqual(
          size === end ? [] : [{ path: journalPath(), bytes: size - end }],
        );
      }
    },
  );

  it('a cut line may be the first line', async () => {
    await write('a');
    truncateSync(journalPath(), 5);
    expect(await names()).toEqual([]);
    await write('b');
    expect(await names()).toEqual(['b']);
  });
});

describe('damage', () => {
  const failure = async (): Promise<AppError> => {
    const error: unknown = await open().catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(AppError);
    return error as AppError;
  };

  it('damage in the middle is an error that names file, line and a fix', async () => {
    await write('first', 'second', 'third');
    const text = readFileSync(journalPath(), 'utf8');
    writeFileSync(journalPath(), text.replace('second', 'sXcond'));
    const { message, detail } = await failure();
    expect(message).toContain(`line 3 of ${journalPath()}`);
    expect(detail.code).toBe('MOCK_STATE_DAMAGED');
    expect(detail.tryThis?.join()).toContain('--discard');
  });

  it('damage in several lines is reported for the first one', async () => {
    await write('first', 'second', 'third', 'fourth');
    const text = readFileSync(journalPath(), 'utf8');
    writeFileSync(journalPath(), text.replace('second', 'sXcond').replace('third', 'tXird'));
    expect((await failure()).message).toContain(`line 3 of ${journalPath()}`);
  });

  it('damage in the last complete line is an error, because that line was acknowledged', async () => {
    await write('first', 'second');
    writeFileSync(journalPath(), readFileSync(journalPath(), 'utf8').replace('second', 'sXcond'));
    expect((await failure()).detail.code).toBe('MOCK_STATE_DAMAGED');
  });

  it('a file of another format is reported as such', async () => {
    await write('a');
    writeFileSync(journalPath(), 'something else\n');
    expect((await failure()).detail.code).toBe('MOCK_STATE_FOREIGN');
    writeFileSync(journalPath(), 'something else without a line end');
    expect((await failure()).detail.code).toBe('MOCK_STATE_FOREIGN');
  });

  it('can be thrown away', async () => {
    await write('a');
    await names();
    appendFileSync(journalPath(), 'garbage\n');
    await discardState(machine.host.files, directory);
    expect(await names()).toEqual([]);
  });
});

describe('a file that a stopped server left', () => {
  const failure = async (): Promise<AppError> => {
    const error: unknown = await open().catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(AppError);
    return error as AppError;
  };
  const stopped = async (...given: string[]) => {
    await write(...given);
    await names();
    return readFileSync(journalPath());
  };

  it(
    'a cut file of a stopped server is damaged, including at the end of a line, and no other file is changed',
    covers('defect/S4-15'),
    async () => {
      const whole = await stopped('a', 'b', 'c');
      for (let size = 0; size < whole.length; size += 1) {
        writeFileSync(journalPath(), whole.subarray(0, size));
        const { message, detail } = await failure();
        expect(detail.code, `cut at ${size}`).toBe('MOCK_STATE_DAMAGED');
        expect(message).toMatch(/journal-1 has \d+ bytes, and had \d+ when the server was last stopped$/);
        expect(readFileSync(journalPath()).length).toBe(size);
      }
      writeFileSync(journalPath(), whole);
      expect(await names()).toEqual(['a', 'b', 'c']);
    },
  );

  it('a missing file of a stopped server is damaged', async () => {
    await stopped('a');
    rmSync(journalPath());
    expect((await failure()).message).toContain('journal-1 has 0 bytes');
  });

  it('a snapshot that was cut at the end of a line is damaged', async () => {
    const { store, journal } = await open();
    for (const n of [1, 2, 3])
      store.transact(() => store.collection<Item>('items').put(n, { id: n, name: `n${n}` }));
    await journal.compact();
    await journal.close();
    const path = join(directory, 'snapshot-2');
    const whole = readFileSync(path);
    writeFileSync(path, whole.subarray(0, whole.subarray(0, -1).lastIndexOf(10) + 1));
    expect((await failure()).message).toContain('snapshot-2 has ');
    writeFileSync(path, whole);
    expect(await names()).toEqual(['n1', 'n2', 'n3']);
  });

  it('a file may have grown, because a killed server records no size', async () => {
    await stopped('a');
    await write('b');
    expect(await names()).toEqual(['a', 'b']);
  });

  it('a file may be missing if a later snapshot replaces it', async () => {
    await stopped('a');
    const { journal } = await open();
    await journal.compact();
    expect(await names()).toEqual(['a']);
  });

  it('a file has the size of its last acknowledged line when the last write failed', async () => {
    const { store, journal } = await open(
      fullDisk(machine.host.files, (write) => [undefined, undefined, 5][write]),
    );
    store.transact(() => store.collection<Item>('items').put(1, { id: 1, name: 'a' }));
    await journal.whenWritten();
    store.transact(() => store.collection<Item>('items').put(2, { id: 2, name: 'b' }));
    await expect(journal.whenWritten()).rejects.toThrow('ENOSPC');
    await journal.close();
    expect(await names()).toEqual(['a']);
  });

  it('a file is read without the sizes when they could not be written', async () => {
    const files: Files = { ...machine.host.files, replace: () => Promise.reject(new Error('ENOSPC')) };
    const { store, journal } = await open(files);
    store.transact(() => store.collection<Item>('items').put(1, { id: 1, name: 'a' }));
    await journal.close();
    expect(existsSync(join(directory, 'sizes.json'))).toBe(false);
    expect(await names()).toEqual(['a']);
  });

  it('a server without changes does not write the file again', async () => {
    await stopped('a');
    const before = statSync(join(directory, 'sizes.json')).ino;
    expect(await names()).toEqual(['a']);
    expect(statSync(join(directory, 'sizes.json')).ino).toBe(before);
  });

  it.each(['', 'null', '[1]', '{"journal-1":"x"}', '{"journal-1":'])(
    'sizes that were damaged are named, and may be deleted: %s',
    async (text) => {
      await stopped('a');
      writeFileSync(join(directory, 'sizes.json'), text);
      const { message, detail } = await failure();
      expect(detail.code).toBe('MOCK_STATE_DAMAGED');
      expect(message).toContain('sizes.json: ');
      rmSync(join(directory, 'sizes.json'));
      expect(await names()).toEqual(['a']);
    },
  );
});

/** Files on a disk that is full at some writes: the disk stores a piece of the text, then the write fails. */
const fullDisk = (files: Files, failsAt: (write: number) => number | undefined): Files => {
  let count = 0;
  const append = (path: string, mode?: number): AppendFile => {
    const file = files.append(path, mode);
    return {
      ...file,
      write: (data) => {
        const piece = failsAt(count++);
        if (piece === undefined) return file.write(data);
        file.write(String(data).slice(0, piece));
        throw Object.assign(new Error('ENOSPC: no space left on device'), { code: 'ENOSPC' });
      },
    };
  };
  return { ...files, append };
};

describe('a write that fails', () => {
  // Write 0 is the header. Pieces: zero bytes, some text, all except the line end, all, and two consecutive failures.
  const cases: readonly (readonly [string, Record<number, number>, string[]])[] = [
    ['nothing written', { 2: 0 }, ['a', 'c', 'd']],
    ['a piece written', { 2: 12 }, ['a', 'c', 'd']],
    ['all but the line end written', { 2: -1 }, ['a', 'c', 'd']],
    ['all of it written', { 2: 10_000 }, ['a', 'c', 'd']],
    ['all but the last two bytes written', { 2: -2 }, ['a', 'c', 'd']],
    ['two in a row', { 2: 12, 3: 3 }, ['a', 'd']],
    ['the last one', { 4: 20 }, ['a', 'b', 'c']],
  ];
  it.each(cases)('a failed write is rejected and leaves no trace: %s', async (_name, fails, kept) => {
    const { store, journal } = await open(fullDisk(machine.host.files, (write) => fails[write]));
    const items = store.collection<Item>('items');
    for (const [i, name] of ['a', 'b', 'c', 'd'].entries()) {
      store.transact(() => items.put(i, { id: i, name }));
      if (kept.includes(name)) await journal.whenWritten();
      else await expect(journal.whenWritten()).rejects.toThrow('cannot write its state');
    }
    expect([...items.values()].map(({ name }) => name)).toEqual(kept);
    expect(await names()).toEqual(kept);
  });

  it('a failed write undoes every waiting transaction in reverse order', async () => {
    const { store, journal } = await open(
      fullDisk(machine.host.files, (write) => (write === 2 ? 30 : undefined)),
    );
    const items = store.collection<Item>('items');
    store.transact(() => {
      items.put(1, { id: 1, name: 'one' });
      items.put(2, { id: 2, name: 'two' });
    });
    await journal.whenWritten();
    const { version } = store;
    store.transact(() => items.delete(1));
    store.transact(() => items.put(2, { id: 2, name: 'changed' }));
    store.transact(() => items.put(1, { id: 1, name: 'again' }));
    expect(items.get(1)).toEqual({ id: 1, name: 'again' });
    await expect(journal.whenWritten()).rejects.toThrow('ENOSPC');
    expect([...items.values()]).toEqual([
      { id: 1, name: 'one' },
      { id: 2, name: 'two' },
    ]);
    expect(store.version).toBeGreaterThan(version);
    expect(await names()).toEqual(['one', 'two']);
  });
});

describe('combined writes', () => {
  it('serves all transactions of a moment', async () => {
    let writes = 0;
    const counted = fullDisk(machine.host.files, () => {
      writes += 1;
      return undefined;
    });
    const { store, journal } = await open(counted);
    const items = store.collection<Item>('items');
    for (let i = 0; i < 10; i++) store.transact(() => items.put(i, { id: i, name: `n${i}` }));
    store.transact(() => items.delete(0));
    expect(journal.whenWritten()).toBeInstanceOf(Promise);
    await journal.whenWritten();
    expect([writes, journal.whenWritten()]).toEqual([2, undefined]);
    expect((await names()).length).toBe(9);
  });
});

describe('compaction', () => {
  const size = () => readdirSync(directory).sort();

  it('compaction folds everything into one snapshot and continues', async () => {
    const { store, journal } = await open();
    const items = store.collection<Item>('items');
    for (let i = 0; i < 50; i++) store.transact(() => items.put(i % 5, { id: i, name: `n${i}` }));
    await journal.compact();
    expect(size()).toEqual(['journal-2', 'snapshot-2']);
    store.transact(() => items.delete(0));
    await journal.close();
    expect(await names()).toEqual(['n46', 'n47', 'n48', 'n49']);
  });

  it('leaves one file open: the journal that is written', async () => {
    const isOpen = new Map<string, boolean>();
    const append = (path: string, mode?: number): AppendFile => {
      const file = machine.host.files.append(path, mode);
      isOpen.set(path, true);
      return {
        ...file,
        close: () => {
          isOpen.set(path, false);
          file.close();
        },
      };
    };
    const { journal } = await open({ ...machine.host.files, append });
    await journal.compact();
    expect([...isOpen]).toEqual([
      [journalPath(1), false],
      [journalPath(2), true],
    ]);
    await journal.close();
    expect(isOpen.get(journalPath(2))).toBe(false);
  });

  it('a compaction removes the files of every compaction that failed before it', async () => {
    let failures = 2;
    const replaceStream: Files['replaceStream'] = (...given) => {
      failures -= 1;
      if (failures >= 0) return Promise.reject(new Error('ENOSPC'));
      return machine.host.files.replaceStream(...given);
    };
    const { store, journal } = await open({ ...machine.host.files, replaceStream });
    const items = store.collection<Item>('items');
    for (let i = 0; i < 3; i += 1) {
      store.transact(() => items.put(i, { id: i, name: `n${i}` }));
      await journal.compact().catch(() => undefined);
    }
    expect(size()).toEqual(['journal-4', 'snapshot-4']);
    await journal.close();
    expect(await names()).toEqual(['n0', 'n1', 'n2']);
  });

  it('compaction starts automatically when the journal has grown, and concurrent changes are kept', async () => {
    const { store, journal } = await open(machine.host.files, 2000);
    const items = store.collection<Item>('items');
    for (let i = 0; i < 200; i++) {
      store.transact(() => items.put(i, { id: i, name: `name ${i}` }));
      if (i % 10 === 0) await new Promise((resolve) => setImmediate(resolve));
    }
    await journal.close();
    expect(existsSync(join(directory, 'journal-1'))).toBe(false);
    expect((await names()).length).toBe(200);
  });

  it('compaction reads a directory of a crash before the snapshot was complete', async () => {
    await write('a');
    writeFileSync(journalPath(2), readFileSync(journalPath(1), 'utf8').replace(/\n.*\n$/, '\n'));
    const { store, journal } = await open();
    store.transact(() => store.collection<Item>('items').put('z', { id: 9, name: 'z' }));
    await journal.close();
    expect(readFileSync(journalPath(2), 'utf8')).toContain('"z"');
    expect(await names()).toEqual(['a', 'z']);
  });

  it('compaction removes leftovers of a crash before the cleanup', async () => {
    const { store, journal } = await open();
    store.transact(() => store.collection<Item>('items').put(1, { id: 1, name: 'a' }));
    const old = readFileSync(journalPath(1));
    await journal.compact();
    await journal.close();
    writeFileSync(journalPath(1), old);
    expect(await names()).toEqual(['a']);
    expect(size()).toEqual(['journal-2', 'sizes.json', 'snapshot-2']);
  });

  it('compaction copies unread records unchanged', async () => {
    await write('a', 'b');
    const { journal } = await open();
    await journal.compact();
    await journal.close();
    expect(await names()).toEqual(['a', 'b']);
  });
});

it('gives every record to a scan and goes on reading the others from the journal', async () => {
  await write('a', 'b', 'c');
  const { store, journal } = await open();
  const items = store.collection<Item>('items');
  expect([...items.scan()].map(([key, { name }]) => [key, name])).toEqual([
    [1, 'a'],
    [2, 'b'],
    [3, 'c'],
  ]);
  expect(items.get(2)).toBe(items.get(2));
  expect([...items.scan()][1]?.[1]).toBe(items.get(2));
  await journal.close();
});

it('reads 100,000 records without parsing them', async () => {
  const { store, journal } = await open();
  const stories = store.collection<object>('stories');
  const story = {
    name: 'A story',
    description: 'x'.repeat(600),
    labels: [1, 2, 3],
    owner_ids: ['11111111-2222-3333-4444-555555555555'],
  };
  for (let i = 0; i < 100; i++) {
    store.transact(() => {
      for (let j = 0; j < 1000; j++) stories.put(i * 1000 + j, { id: i * 1000 + j, ...story });
    });
  }
  await journal.close();
  const again = await open();
  expect(again.store.collection('stories').size).toBe(100_000);
  expect(again.store.collection('stories').get(99_999)).toEqual({ id: 99_999, ...story });
  await again.journal.close();
});

describe('loss of power', () => {
  it('the old file is complete before the new one is started', covers('defect/R-25'), async () => {
    const calls: string[] = [];
    const watched: Files = {
      ...machine.host.files,
      append: (path, mode): AppendFile => {
        calls.push(`open ${path.slice(path.lastIndexOf('/') + 1)}`);
        const file = machine.host.files.append(path, mode);
        return { ...file, sync: () => (calls.push('sync'), file.sync()) };
      },
    };
    const { store, journal } = await open(watched);
    store.transact(() => store.collection<Item>('items').put(1, { id: 1 }));
    await journal.compact();
    await journal.close();
    // The last sync is for the recorded size.
    expect(calls).toEqual(['open journal-1', 'sync', 'open journal-2', 'sync']);
  });

  it('a file of zeros counts as never written', async () => {
    await write('a');
    writeFileSync(journalPath(2), Buffer.alloc(100));
    expect(await names()).toEqual(['a']);
  });
});
