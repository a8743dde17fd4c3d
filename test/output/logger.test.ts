import { describe, expect, test } from 'vitest';
import { AppError } from '../../src/core/problem.ts';
import { recordResult, rowsResult } from '../../src/core/result.ts';
import { renderError } from '../../src/output/error.ts';
import { makeLogger } from '../../src/output/logger.ts';
import { makeRedactor } from '../../src/output/redact.ts';
import { render } from '../../src/output/render.ts';
import type { OutputOptions } from '../../src/output/types.ts';
import { type FakeHostOptions, fakeHost } from '../support/fake-host.ts';
import { covers } from '../support/covers.ts';

const speaker = (options: Partial<OutputOptions> = {}, world: FakeHostOptions = {}) => {
  const host = fakeHost(world);
  return {
    host,
    log: makeLogger(host, { header: true, quiet: false, verbose: false, ...options }, makeRedactor()),
  };
};
const talk = (options: Partial<OutputOptions>): string => {
  const { host, log } = speaker(options);
  log.info('fact');
  log.warn('careful');
  log.debug('detail');
  log.warnOnce('old', 'use the new one');
  log.warnOnce('old', 'use the new one');
  log.warnOnce('other', 'another');
  expect(host.out()).toBe('');
  return host.err();
};

test('messages go to stderr, a repeated warning once', covers('spec/program#output-1'), () => {
  expect(talk({})).toBe('fact\nwarning: careful\nwarning: use the new one\nwarning: another\n');
});
test('--quiet leaves none', () => {
  expect(talk({ quiet: true })).toBe('');
});
test('--verbose adds details', () => {
  expect(talk({ verbose: true })).toContain('careful\ndetail\n');
});

test('hidden values and control characters are replaced', () => {
  const { host, log } = speaker();
  log.hide('token-1');
  log.info('got token-1 \u001b[2J');
  expect(host.err()).toBe('got *** \\u001b[2J\n');
});

test('messages keep their order where color is on', async () => {
  const { host, log } = speaker({ color: 'always', verbose: true });
  log.info('1');
  log.warn('2');
  log.debug('3');
  log.info('4');
  await expect.poll(() => host.err().split('\n').length < 5, { interval: 1 }).toBe(false);
  expect(host.err()).toBe('1\n\u001b[33mwarning:\u001b[39m 2\n\u001b[2m3\u001b[22m\n4\n');
});

describe('a turning line', () => {
  const tty: FakeHostOptions = { tty: ['stderr'], env: { NO_COLOR: '1' } };
  test.each<[string, Partial<OutputOptions>, FakeHostOptions, boolean]>([
    ['on a terminal', {}, tty, true],
    ['in a pipe', {}, {}, false],
    ['in CI', {}, { ...tty, env: { CI: 'true' } }, false],
    ['with --quiet', { quiet: true }, tty, false],
    ['with -o json', { format: 'json' }, tty, false],
  ])('%s', async (_, options, world, expected) => {
    const { host, log } = speaker(options, world);
    const line = await log.status('waiting');
    line.update('still waiting');
    line.stop();
    expect(host.err()).toBe(expected ? '~waiting~still waiting~.' : '');
  });

  test('does not come back when it was stopped while it stepped aside', async () => {
    const { host, log } = speaker({}, tty);
    const line = await log.status('waiting');
    log.info('fact');
    line.stop();
    await new Promise((resolve) => setImmediate(resolve));
    expect(host.err()).toBe('~waiting~.fact\n~waiting~.');
  });

  test('steps aside for a message, and shows no secret', async () => {
    const { host, log } = speaker({}, tty);
    log.hide('token-1');
    const line = await log.status('with token-1');
    log.info('fact');
    await new Promise((resolve) => setImmediate(resolve));
    line.stop();
    expect(host.err()).toBe('~with ***~.fact\n~with ***~.');
  });
});

test('a reader of stderr that has gone is no reason to fail', () => {
  const host = fakeHost();
  const broken = {
    ...host,
    terminal: {
      ...host.terminal,
      stderr: { ...host.terminal.stderr, write: () => Promise.reject(new Error('EPIPE')) },
    },
  };
  expect(() =>
    makeLogger(broken, { header: true, quiet: false, verbose: false }, makeRedactor()).info('x'),
  ).not.toThrow();
});

describe('logger with -o json', () => {
  const error = new AppError('not-found', 'gone');
  const held = (format: 'json' | 'ndjson' | 'table') => {
    const host = fakeHost();
    const options: OutputOptions = { format, header: true, quiet: false, verbose: false, notes: [] };
    const redactor = makeRedactor();
    return { host, options, redactor, log: makeLogger(host, options, redactor) };
  };

  test.each(['json', 'ndjson'] as const)(
    'an error is the only output on stderr and contains the earlier messages (%s)',
    async (format) => {
      const { host, options, redactor, log } = held(format);
      log.hide('secret-12');
      log.info('using the mock, secret-12');
      await renderError(error, options, host, redactor);
      expect(host.err().split('\n')).toHaveLength(2);
      expect(JSON.parse(host.err())).toMatchObject({ code: 'NOT_FOUND', notes: ['using the mock, ***'] });
    },
  );

  test('without an error, messages are written at the start of the output and at its end', async () => {
    const { host, options, redactor, log } = held('json');
    log.info('early');
    expect(host.err()).toBe('');
    await render(recordResult({}), options, host, redactor);
    expect(host.err()).toBe('early\n');
    async function* rows() {
      log.warn('late');
      yield 1;
    }
    await render(rowsResult(rows()), options, host, redactor);
    expect(host.err()).toBe('early\nwarning: late\n');
  });

  test('a slow command writes messages immediately and in order', () => {
    const { host, log } = held('json');
    log.info('one');
    host.advance(1001);
    log.info('two');
    expect(host.err()).toBe('one\ntwo\n');
  });

  test('other formats hold no messages back', () => {
    const { host, log } = held('table');
    log.info('now');
    expect(host.err()).toBe('now\n');
  });
});

test.each([
  ['in CI', { CI: 'true' }, {}, '2 of 9\n4 of 9\n'],
  ['in CI with --quiet', { CI: 'true' }, { quiet: true }, ''],
  ['in a pipe outside CI', {}, {}, '2 of 9\n4 of 9\n'],
  ['next to JSON rows in a pipe', {}, { format: 'ndjson' }, ''],
] as const)(
  'a long run writes one line of progress each minute %s',
  covers('spec/program#output-2'),
  async (_, env, options, expected) => {
    let at = 0;
    const host = { ...fakeHost({ env }), elapsed: () => at };
    const log = makeLogger(host, { header: true, verbose: false, quiet: false, ...options }, makeRedactor());
    const status = await log.status('0 of 9');
    for (const [ms, text] of [
      [59_999, '1 of 9'],
      [60_000, '2 of 9'],
      [119_999, '3 of 9'],
      [125_000, '4 of 9'],
    ] as const) {
      at = ms;
      status.update(text);
    }
    status.stop();
    expect(host.err()).toBe(expected);
  },
);

test('messages in a burst never show two spinners, and the last text stays', async () => {
  const host = fakeHost({ tty: ['stderr'] });
  let [alive, most] = [0, 0];
  const shown: string[] = [];
  host.terminal.spinner = async (text) => {
    await Promise.resolve();
    alive += 1;
    most = Math.max(most, alive);
    shown.push(text);
    const stop = (): void => {
      alive -= 1;
    };
    return { update: (next) => void shown.push(next), stop };
  };
  const log = makeLogger(host, { header: true, verbose: false, quiet: false }, makeRedactor());
  const status = await log.status('1 of 9');
  for (const text of ['a', 'b', 'c']) log.info(text);
  status.update('2 of 9');
  await new Promise((resolve) => setImmediate(resolve));
  expect([most, alive, shown.at(-1)]).toEqual([1, 1, '2 of 9']);
  status.stop();
  expect(alive).toBe(0);
});

describe('while the pager has the terminal', () => {
  const paged = (format: 'table' | 'ndjson') => {
    const host = fakeHost({ tty: ['stdin', 'stdout', 'stderr'], env: { NO_COLOR: '1' } });
    const screen = { isTaken: true };
    const options: OutputOptions = {
      ...{ format, header: true, quiet: false, verbose: true, notes: [], lastNotes: [], screen },
    };
    const redactor = makeRedactor();
    return { host, screen, options, redactor, log: makeLogger(host, options, redactor) };
  };
  const say = (log: ReturnType<typeof paged>['log']): void => {
    log.info('waiting 4 s for the rate limit');
    log.warn('careful');
    log.debug('detail');
  };
  const said = 'waiting 4 s for the rate limit\nwarning: careful\ndetail\n';

  test.each(['table', 'ndjson'] as const)('no message is written into it: %s', async (format) => {
    const { host, screen, options, redactor, log } = paged(format);
    say(log);
    host.advance(1001);
    expect(host.err()).toBe('');
    screen.isTaken = false;
    await render(rowsResult([]), { ...options, format: 'json' }, host, redactor);
    expect(host.err()).toBe(said);
  });

  test('a message that was held before it started waits for its end', async () => {
    const { host, screen, log } = paged('ndjson');
    screen.isTaken = false;
    log.info('early');
    screen.isTaken = true;
    await new Promise((resolve) => setImmediate(resolve));
    await new Promise((resolve) => setImmediate(resolve));
    expect(host.err()).toBe('');
  });

  test('an error is written after the messages that waited', async () => {
    const { host, screen, options, redactor, log } = paged('table');
    say(log);
    screen.isTaken = false;
    await renderError(new AppError('not-found', 'gone'), options, host, redactor);
    expect(host.err()).toBe(`${said}error: gone\n`);
  });
});

describe('one reader of both streams', () => {
  /** Prints two rows with a warning between them, and returns what the reader gets. */
  const joined = async (
    options: Partial<OutputOptions>,
    world: FakeHostOptions = {},
    failure?: AppError,
  ): Promise<string> => {
    const host = fakeHost(world);
    const texts: string[] = [];
    const write = async (text: string | Uint8Array): Promise<void> => void texts.push(String(text));
    const terminal = {
      ...host.terminal,
      stdout: Object.assign(Object.create(host.terminal.stdout), { write }),
      stderr: Object.assign(Object.create(host.terminal.stderr), { write }),
    };
    const run: OutputOptions = {
      ...{ header: true, quiet: false, verbose: false, notes: [], lastNotes: [], screen: { isTaken: false } },
      ...options,
    };
    const shared = { ...host, terminal };
    const log = makeLogger(shared, run, makeRedactor());
    const rows = async function* () {
      yield { id: 1, name: 'one' };
      await new Promise((resolve) => setImmediate(resolve));
      log.warn('careful');
      if (failure !== undefined) throw failure;
      yield { id: 2, name: 'two' };
    };
    try {
      await render(rowsResult(rows()), run, shared, makeRedactor());
    } catch (error) {
      await renderError(error, run, shared, makeRedactor());
    }
    return texts.join('');
  };
  const list = `${JSON.stringify(
    [
      { id: 1, name: 'one' },
      { id: 2, name: 'two' },
    ],
    null,
    2,
  )}\n`;
  const terminal: FakeHostOptions = { tty: ['stdout', 'stderr'], env: { NO_COLOR: '1' } };
  test('a JSON list has no warning between its rows, asked for or as the default of a pipe', async () => {
    expect(await joined({})).toBe(`${list}warning: careful\n`);
    expect(await joined({ format: 'json' })).toBe(`${list}warning: careful\n`);
    expect(await joined({ format: 'json' }, terminal)).toBe(`${list}warning: careful\n`);
  });
  test('a warning on a terminal next to a pipe does not wait, and starts on a new line', async () => {
    const text = await joined({}, { tty: ['stderr'], env: { NO_COLOR: '1' } });
    expect(text.split('\n')).toContain('warning: careful');
    expect(text.indexOf('careful')).toBeLessThan(text.indexOf('two'));
    expect(text.replace('warning: careful\n', '')).toBe(list);
  });
  test('an error in a list starts on a new line behind whole rows', async () => {
    const text = await joined({}, {}, new AppError('network', 'connection lost'));
    expect(text).toContain('"one"\n  }\nwarning: careful\nerror: connection lost\n');
  });
});

test('the message of an interrupted command takes the place of ^C on a terminal', async () => {
  const written = async (category: 'interrupted' | 'network', world: FakeHostOptions): Promise<string> => {
    const host = fakeHost({ ...world, env: { NO_COLOR: '1' } });
    const options = { header: true, quiet: false, verbose: false };
    await renderError(new AppError(category, 'it was canceled'), options, host, makeRedactor());
    return host.err();
  };
  expect(await written('interrupted', { tty: ['stderr'] })).toMatch(/^\rerror: /);
  expect(await written('interrupted', {})).toMatch(/^error: /);
  expect(await written('network', { tty: ['stderr'] })).toMatch(/^error: /);
});
