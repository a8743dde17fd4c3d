import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const root = new URL('../src/', import.meta.url).pathname;
const sources = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter((name) =>
  name.endsWith('.ts'),
);
const linesWith = (pattern: RegExp): string[] =>
  sources.flatMap((name) =>
    readFileSync(join(root, name), 'utf8')
      .split('\n')
      .filter((line) => pattern.test(line))
      .map((line) => `${name}: ${line.trim()}`),
  );

/**
 * A cast would bypass the type and still compile. Only `externalUrl` creates values of the type; the loopback address
 * is valid by construction.
 */
test('no source casts a text to a web address', () => {
  const casts = linesWith(/as (unknown as )?ExternalUrl\b|<ExternalUrl>/).filter(
    (line) => !line.startsWith('core/external-url.ts'),
  );
  expect(casts).toEqual([
    'auth/loopback/listen.ts: return externalUrl(`http://${literal}:${bound.port}${launchPath}`) as ExternalUrl;',
  ]);
});

test('no source casts a text to a file name', () => {
  const casts = linesWith(/as (unknown as )?FileName\b|<FileName>/);
  expect(casts.filter((line) => !line.startsWith('core/file-name.ts'))).toEqual([]);
});

/** Each file that starts a program, and the reason why external text cannot become a flag of the program. */
const starters: Readonly<Record<string, string>> = {
  'auth/machine/identity-token.ts': 'the command of the user, for a shell',
  'auth/programs/setup.ts': 'git, with keys of a fixed form; kubectl, the user after --',
  'cli/approved-files.ts': 'hands on the words of its caller, with the paths of copies',
  'cli/aliases.ts': 'the command of the user; a program for completion, with the words of the line',
  'commands/kv/top.ts': 'this program, with fixed words',
  'commands/mock/serve.ts': 'this program, values follow their flag; the command of the user',
  'support/installation.ts': 'npm, with fixed words',
  'etcd-sim/cluster/layout.ts': 'the simulated member',
  'kv/snapshots/trial-restore.ts': 'absolute paths, and values that follow their flag',
  'kv/upgrade/cluster/draft.ts': 'systemctl, the unit after --',
  'kv/upgrade/execute/steps.ts': 'values follow their flag',
  'kv/upgrade/execute/member.ts': 'the command of the cluster file',
  'kv/upgrade/fleet/fleet-run.ts': 'this program; values follow their flag',
  'kv/upgrade/rehearse/private-copy.ts': 'this program; values follow their flag',
  'kv/upgrade/rehearse/rehearse.ts': 'values follow their flag',
  'kv/upgrade/supervisors/local.ts': 'a fixed word; the command line of the cluster file',
  'kv/upgrade/supervisors/driver.ts': 'a script on standard input',
  'kv/upgrade/supervisors/process-record.ts': 'ionice, with the number of a process',
  'kv/upgrade/supervisors/ssh.ts': 'the host after --; the jump host is validated',
  'kv/upgrade/window/window.ts': 'the command of the user, for a shell',
  'cli/mcp/call.ts': 'this program; its words are on standard input',
  'platform/node/programs.ts': 'a web address; the pager command of the user, for a shell',
  'platform/node/processes.ts': 'ps, with a number; Host.processes itself',
  'support/tour.ts': 'this program, with fixed words',
  'tracker/long-text.ts': 'the editor of the user, with an absolute path',
};

test('every place that starts a program documents why its arguments are safe', () => {
  const found = sources.filter((name) =>
    /\bprocesses\s*\.(run|start)\(|\b(spawn|spawnSync|execFile|execFileSync|exec|execSync|fork)\(/.test(
      readFileSync(join(root, name), 'utf8').replaceAll(/\.exec\(/g, ''),
    ),
  );
  expect(found.toSorted()).toEqual(Object.keys(starters).toSorted());
});
