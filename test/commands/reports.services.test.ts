/** Every command with --report writes the files on every exit. */
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { XMLParser } from 'fast-xml-parser';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { groups } from '../../src/commands/program.ts';
import type { Host } from '../../src/platform/host.ts';
import { opsctl } from '../support/program.ts';
import { covers } from '../support/covers.ts';
import { makeDirectory } from '../support/directory.ts';
import { junitFaults, sarifFaults } from '../support/report-schemas.ts';
import { errorOf } from '../support/facts.ts';

let home: string;
const at = (name: string): string => join(home, name);
const given = 'junit=r.xml,sarif=r.sarif,codequality=r.json,markdown=r.md';
const files = ['r.xml', 'r.sarif', 'r.json', 'r.md'];

beforeAll(() => {
  home = makeDirectory();
  writeFileSync(at('workspace.yaml'), 'labels:\n  - name: not there yet\n');
  writeFileSync(at('bad.yaml'), 'labels: [\n');
  writeFileSync(at('keyed.ndjson'), '{"op":"upsert","resource":"labels","name":"k","external_id":"k-1"}\n');
  writeFileSync(at('rows.ndjson'), '{"op":"create","resource":"labels","name":"a"}\n');
  writeFileSync(at('bad.ndjson'), '{"op":"create","resource":"labels"}\n');
  writeFileSync(at('label.yaml'), 'title: One\ndescription: One label\ntype: SHARED\n');
  writeFileSync(at('label-bad.yaml'), 'title: One\ntype: SHARED\nfields:\n  - name: [wrong]\n');
  writeFileSync(
    at('cluster.yaml'),
    'name: c\nmembers:\n  - name: n1\n    client_url: http://127.0.0.1:1\n    pid_file: /nowhere/pid\n    log_file: /nowhere/log\n    old_command: /nowhere/old\n    new_command: /nowhere/new\n    data_dir: /nowhere/data\n    old_binary: /nowhere/old\n    new_binary: /nowhere/new\n',
  );
});
beforeEach(() => {
  for (const name of files) rmSync(at(name), { force: true });
});

const closed = (name: string) => ({
  [`OPSCTL_${name}_URL`]: 'http://127.0.0.1:1',
  [`OPSCTL_${name}_TOKEN`]: 't',
});
type Case = [what: string, args: readonly string[], code: number, env?: Record<string, string>];
const cases: Readonly<Record<string, Case[]>> = {
  'kv check': [
    ['an unknown flag', ['--bogus'], 2],
    ['an invalid value', ['--hold-after', '0'], 2],
    ['a guard that is not one', ['--cluster', 'cluster.yaml', '--accept', 'nothing'], 2],
    ['a missing cluster file', ['--cluster', 'none.yaml'], 3],
    ['a broken cluster file', ['--cluster', 'bad.yaml'], 3],
    ['members that do not answer', ['--cluster', 'cluster.yaml'], 20],
    ['a wrong setting', ['--cluster', 'cluster.yaml'], 2, { OPSCTL_MAX_TIME: 'soon' }],
  ],
  'kv certs': [
    ['an unknown flag', ['--bogus'], 2],
    ['a missing cluster file', ['--cluster', 'none.yaml'], 3],
    ['a broken cluster file', ['--cluster', 'bad.yaml'], 3],
    ['members that do not respond', ['--cluster', 'cluster.yaml'], 20],
  ],
  'labels lint': [
    ['an unknown flag', ['-f', 'label.yaml', '--bogus'], 2],
    ['a missing flag', [], 2],
    ['a missing file', ['-f', 'none.yaml'], 2],
    ['a broken file', ['-f', 'label-bad.yaml'], 2],
    ['nothing found', ['-f', 'label.yaml'], 0],
  ],
  'labels diff': [
    ['an unknown flag', ['-f', 'label.yaml', '--bogus'], 2],
    ['neither a label nor a file', [], 2],
    ['a missing file', ['-f', 'none.yaml'], 2],
    ['a label that does not exist', ['no such label'], 6],
    ['a label with a draft', ['Project phase'], 20],
    ['a difference', ['-f', 'label.yaml'], 20],
    ['an unreachable service', ['-f', 'label.yaml'], 11, closed('LABELS')],
    ['a dry run', ['-f', 'label.yaml', '--dry-run'], 20],
  ],
  'tracker diff': [
    ['an unknown flag', ['-f', 'workspace.yaml', '--bogus'], 2],
    ['a missing file', ['-f', 'none.yaml'], 2],
    ['a broken file', ['-f', 'bad.yaml'], 2],
    ['a wrong jq program', ['-f', 'workspace.yaml', '--jq', '.['], 2],
    ['an unreachable service', ['-f', 'workspace.yaml'], 11, closed('TRACKER')],
    ['a difference', ['-f', 'workspace.yaml'], 20],
    ['a token without a URL', ['-f', 'workspace.yaml'], 3, { OPSCTL_TRACKER_TOKEN: 't' }],
  ],
  'tracker bulk': [
    ['an unknown flag', ['-f', 'rows.ndjson', '--bogus'], 2],
    ['a missing file', ['-f', 'none.ndjson'], 2],
    ['an invalid row', ['-f', 'bad.ndjson'], 2],
    ['rows that are created', ['-f', 'rows.ndjson'], 0],
    ['an unreachable service', ['-f', 'rows.ndjson'], 11, closed('TRACKER')],
    ['a dry run', ['-f', 'rows.ndjson', '--dry-run'], 0],
  ],
  'tracker sync': [
    ['an unknown flag', ['-f', 'rows.ndjson', '--bogus'], 2],
    ['a missing file', ['-f', 'none.ndjson'], 2],
    ['an invalid row', ['-f', 'bad.ndjson'], 2],
    ['an unreachable service', ['-f', 'keyed.ndjson'], 11, closed('TRACKER')],
    ['a dry run', ['-f', 'keyed.ndjson', '--dry-run'], 0],
  ],
};

it('the table below has a row for every command that accepts --report', async () => {
  const checks = (await Promise.all(groups.map(({ load }) => load([]))))
    .flat()
    .filter(({ isCheck }) => isCheck === true);
  expect(checks.map(({ path }) => path.join(' ')).toSorted()).toEqual(Object.keys(cases).toSorted());
});

const failuresIn = (xml: string): number => {
  expect(junitFaults(xml)).toEqual([]);
  const { testsuites } = new XMLParser({ ignoreAttributes: false }).parse(xml);
  return Number(testsuites['@_failures']);
};
const errorsIn = (text: string): number => {
  expect(sarifFaults(text)).toEqual([]);
  const log = JSON.parse(text);
  expect(log.runs).toHaveLength(1);
  return log.runs[0].results.filter(({ level }: { level: string }) => level === 'error').length;
};

for (const [command, rows] of Object.entries(cases))
  describe(command, () => {
    it.each<Case>(rows)('writes its reports for %s: %j', async (_, args, code, env) => {
      const line = [...command.split(' '), ...args, '--report', given];
      const ran = await opsctl(line, env === undefined ? { home } : { home, env });
      expect([ran.code, ran.stderr]).toEqual([code, expect.anything()]);
      for (const name of files) expect(existsSync(at(name)), name).toBe(true);
      const isGood = code === 0;
      expect(failuresIn(readFileSync(at('r.xml'), 'utf8')) === 0).toBe(isGood);
      expect(errorsIn(readFileSync(at('r.sarif'), 'utf8')) === 0).toBe(isGood);
      expect(Array.isArray(JSON.parse(readFileSync(at('r.json'), 'utf8')))).toBe(true);
    });
  });

describe('a report that cannot be written', () => {
  const line = ['tracker', 'diff', '-f', 'workspace.yaml', '--report', 'junit=none/r.xml,sarif=r.sarif'];
  it('does not keep the others from being written', async () => {
    const ran = await opsctl(line, { home });
    expect(ran.code).toBe(2);
    expect(ran.stderr).toContain('none');
    expect(errorsIn(readFileSync(at('r.sarif'), 'utf8'))).toBe(1);
  });
  it('does not hide the error of the check', async () => {
    const wrong = [...line, '--bogus', '-o', 'json'];
    const ran = await opsctl(wrong, { home });
    const error = errorOf(ran);
    expect([ran.code, error.message]).toEqual([2, expect.stringContaining('--bogus')]);
    expect(error.notes).toEqual([expect.stringContaining('cannot write the report')]);
    expect(errorsIn(readFileSync(at('r.sarif'), 'utf8'))).toBeGreaterThan(0);
  });
});

it('an interrupted check has its report', covers('setting/max_time'), async () => {
  const ran = await opsctl(
    ['tracker', 'diff', '-f', 'workspace.yaml', '--max-time', '1ms', '--report', given],
    { home },
  );
  expect(ran.code).not.toBe(0);
  expect(failuresIn(readFileSync(at('r.xml'), 'utf8'))).toBeGreaterThan(0);
});

/** One command line for each command that would send requests, for the failures that do not depend on the input. */
const working: Readonly<Record<string, readonly string[]>> = {
  'kv check': ['--cluster', 'cluster.yaml'],
  'kv certs': ['--cluster', 'cluster.yaml'],
  'labels lint': ['-f', 'label.yaml'],
  'labels diff': ['-f', 'label.yaml'],
  'tracker diff': ['-f', 'workspace.yaml'],
  'tracker bulk': ['-f', 'rows.ndjson', '--restart'],
  'tracker sync': ['-f', 'keyed.ndjson'],
};
type Signals = ReadonlyArray<(signal: 'SIGINT' | 'SIGTERM') => void>;
/** A machine that calls `disturb` when the command reads its input or sends its first request. */
const machineThat =
  (disturb: (host: Host, listeners: Signals) => void) =>
  (host: Host): Host => {
    const listeners: ((signal: 'SIGINT' | 'SIGTERM' | 'SIGHUP') => void)[] = [];
    let isDisturbed = false;
    const first = (): void => {
      if (isDisturbed) return;
      isDisturbed = true;
      disturb(host, listeners);
    };
    const isInput = (path: string): boolean => /\.(yaml|ndjson)$/.test(path);
    return {
      ...host,
      onSignal: (listener) => {
        listeners.push(listener);
        return () => undefined;
      },
      network: {
        ...host.network,
        request: async (...given) => {
          first();
          return host.network.request(...given);
        },
      },
      files: {
        ...host.files,
        read: async (path, ...rest) => {
          if (isInput(path)) first();
          return host.files.read(path, ...rest);
        },
        readBytes: async (path, ...rest) => {
          if (isInput(path)) first();
          return host.files.readBytes(path, ...rest);
        },
      },
    };
  };
const isComplete = (): void => {
  expect(failuresIn(readFileSync(at('r.xml'), 'utf8'))).toBeGreaterThan(0);
  expect(errorsIn(readFileSync(at('r.sarif'), 'utf8'))).toBeGreaterThan(0);
  expect(JSON.parse(readFileSync(at('r.json'), 'utf8')).length).toBeGreaterThan(0);
  expect(readFileSync(at('r.md'), 'utf8')).toMatch(/^### .*\d+ fail/);
};

describe.each(Object.entries(working))('%s', (command, args) => {
  const line = [...command.split(' '), ...args, '--report', given];
  it('has its reports when the program crashes', async () => {
    const crash = machineThat(() => {
      throw new TypeError('a fault of the program');
    });
    const ran = await opsctl(line, { home, host: crash });
    expect(ran.code, ran.stderr).toBe(1);
    isComplete();
  });
  it.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const)('has its reports after %s', async (signal, code) => {
    const interrupt = machineThat((_, listeners) => {
      for (const listener of listeners) listener(signal);
    });
    const ran = await opsctl(line, { home, host: interrupt });
    expect([code, 0, 8, 20]).toContain(ran.code);
    if (ran.code === code || ran.code === 8) isComplete();
    else for (const name of files) expect(existsSync(at(name)), name).toBe(true);
  });
  it('has a report of a failure while it runs, in place of an earlier report', async () => {
    for (const name of files) writeFileSync(at(name), 'the report of an earlier run');
    let wasChecked = false;
    const look = machineThat(() => {
      isComplete();
      wasChecked = true;
    });
    await opsctl(line, { home, host: look });
    expect(wasChecked).toBe(true);
  });
  it('sends nothing when a report cannot be written', async () => {
    let hasBegun = false;
    const look = machineThat(() => {
      hasBegun = true;
    });
    const ran = await opsctl([...line.slice(0, -1), 'junit=none/r.xml,markdown=r.md'], { home, host: look });
    expect([ran.code, hasBegun]).toEqual([2, false]);
    expect(readFileSync(at('r.md'), 'utf8')).toMatch(/1 fail/);
  });
});

it('a check that fails in GitHub Actions shows its error as an annotation and in the summary of the job', async () => {
  const summary = at('summary.md');
  writeFileSync(summary, '');
  const env = { ...closed('TRACKER'), GITHUB_ACTIONS: 'true', GITHUB_STEP_SUMMARY: summary };
  const ran = await opsctl(['tracker', 'diff', '-f', 'workspace.yaml', '--report', given], { home, env });
  expect(ran.code).toBe(11);
  expect(ran.stderr).toMatch(/^::error title=/m);
  expect(readFileSync(summary, 'utf8')).toMatch(/^### tracker diff: 1 fail/);
});
