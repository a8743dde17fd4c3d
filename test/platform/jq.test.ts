import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { expect, test } from 'vitest';
import { startJq } from '../../src/platform/node/jq-run.ts';
import { covers } from '../support/covers.ts';

const ran = async (program: string, input: AsyncIterable<string> | Iterable<string>, args: string[] = []) => {
  const jq = startJq(program, ['-c', '-r', ...args]);
  const compiled = await jq.compiled;
  const feed = async (): Promise<void> => {
    for await (const text of input) await jq.write(text);
    jq.end();
  };
  const fed = feed();
  let text = '';
  for await (const bytes of jq.output()) text += Buffer.from(bytes).toString();
  await fed;
  return { compiled, text, ...(await jq.finished) };
};

test('jq 1.8 runs with its own functions, dates and messages, and sees neither environment nor files', async () => {
  expect(
    await ran('ltrimstr("a"), have_decnum, (0 | todate), ($ENV | has("HOME") | not | not), input_filename', [
      '"ab"',
    ]),
  ).toMatchObject({
    compiled: 'yes',
    code: 0,
    text: 'b\ntrue\n1970-01-01T00:00:00Z\ntrue\nnull\n'.replace('null', '/dev/stdin'),
  });
  expect((await ran('env.HOME, env.PATH', ['1'])).text).toBe('/home/web_user\n/\n');
  expect(await ran('import "a" as a; .', ['1'])).toMatchObject({ compiled: 'no', code: 3 });
  expect(await ran('.a |', ['1'])).toMatchObject({
    compiled: 'no',
    code: 3,
    stderr: expect.stringContaining('unexpected end of file'),
  });
  expect(await ran('.[0]|.x', ['[1]'])).toMatchObject({
    code: 5,
    stderr: expect.stringContaining('Cannot index number with'),
  });
});

test('jq streams input and output: it returns a row before the next one is written', async () => {
  const jq = startJq('.id', ['-c', '--unbuffered']);
  const output = jq.output()[Symbol.asyncIterator]();
  for (const id of [1, 2, 3]) {
    await jq.write(`{"id":${id}}\n`);
    expect(Buffer.from((await output.next()).value as Uint8Array).toString()).toBe(`${id}\n`);
  }
  jq.end();
  expect((await output.next()).done).toBe(true);
  expect(await jq.finished).toEqual({ code: 0, stderr: '' });
});

test('jq returns more rows than any buffer holds in order, for pieces of any size', async () => {
  const row = (i: number): string => `{"id":${i},"text":"${'é'.repeat(i % 7)}"}\n`;
  const all = Array.from({ length: 20_000 }, (_, i) => row(i)).join('');
  const pieces = Array.from({ length: Math.ceil(all.length / 999) }, (_, i) =>
    all.slice(i * 999, (i + 1) * 999),
  );
  const { text } = await ran('.id', pieces);
  expect(text).toBe(Array.from({ length: 20_000 }, (_, i) => `${i}\n`).join(''));
});

test('one document may need more memory than the package allows; dates still work after that', async () => {
  // 400 MB of text: the build of the package is limited to 256 MB.
  const { text, code } = await ran(
    '[range(20) | "x" * 20000000] | map(length) | add, ("2015-03-05T23:51:47Z" | strptime("%Y-%m-%dT%H:%M:%SZ") | mktime)',
    ['null'],
  );
  expect([text, code]).toEqual(['400000000\n1425599507\n', 0]);
});

test(
  'an endless program can be stopped, and a writer receives an error',
  covers('defect/D6-1', 'defect/R-8'),
  async () => {
    const jq = startJq('def f: f; f', ['-c']);
    await jq.compiled;
    await jq.write('1\n');
    await jq.kill();
    expect(await jq.finished).toEqual({ code: null, stderr: '' });
    expect(await jq.write('2\n')).toBe(false);
  },
);

test('input and its end that arrive during the check of the thread are not lost', async () => {
  const control = new Int32Array(new SharedArrayBuffer(5 * 4));
  const ring = new SharedArrayBuffer(1024);
  // The thread reads an empty ring. Before its next read, all of the input and the end of the input arrive.
  const late = `
    import { workerData } from 'node:worker_threads';
    const { control, ring } = workerData;
    const [FILLED, ENDED, EVENT] = [0, 1, 3];
    const { load } = Atomics;
    Atomics.load = (array, place) => {
      const seen = load(array, place);
      if (array !== control || place !== FILLED || seen !== 0 || load(control, ENDED) === 1) return seen;
      const input = new TextEncoder().encode('{"name":"bug"}');
      new Uint8Array(ring).set(input);
      Atomics.add(control, FILLED, input.length);
      Atomics.store(control, ENDED, 1);
      Atomics.add(control, EVENT, 1);
      return seen;
    };
    await import(${JSON.stringify(new URL('../../src/platform/node/jq-thread.mjs', import.meta.url).href)});`;
  const worker = new Worker(new URL(`data:text/javascript,${encodeURIComponent(late)}`), {
    workerData: { control, ring, args: ['-r'], program: '.name' },
    execArgv: [],
  });
  const messages: { readonly output?: Uint8Array; readonly code?: number }[] = [];
  worker.on('message', (message) => messages.push(message));
  await once(worker, 'exit');
  expect(messages.map(({ output }) => Buffer.from(output ?? []).toString()).join('')).toBe('bug\n');
  expect(messages.at(-1)).toMatchObject({ code: 0 });
});
