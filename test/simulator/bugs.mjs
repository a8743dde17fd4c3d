// Bugs that the simulator must find. Each bug is a small change to the sources of the product. `node
// test/simulator/bugs.mjs` plants them one by one in separate builds and prints the number of histories until the
// simulator found each bug. `--only TEXT` selects the bugs whose name contains TEXT.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { buildSimulator } from './build.mjs';

/** Maximum number of histories until the simulator must find a bug. */
export const WITHIN = 10_000;

/** `find` must occur exactly once in `file`. If the text of a bug no longer exists, the bug fails instead of passing. */
export const bugs = [
  {
    name: 'a replaced file is not synced before its rename',
    operation: 'credential store',
    file: 'src/platform/node/files.ts',
    find: 'if (mode !== undefined) await file.chmod(mode);\n    await file.sync();',
    replace: 'if (mode !== undefined) await file.chmod(mode);',
  },
  {
    name: 'the directory of a replaced file is not synced',
    operation: 'configuration',
    file: 'src/platform/node/files.ts',
    find: 'await syncDirectory(directory);',
    replace: '',
  },
  {
    name: 'the directory of a replaced file is synced before the rename',
    operation: 'configuration',
    file: 'src/platform/node/files.ts',
    find: 'await fs.promises.rename(temporary, real);\n    await syncDirectory(directory);',
    replace: 'await syncDirectory(directory);\n    await fs.promises.rename(temporary, real);',
  },
  {
    name: 'a file is renamed before it is written',
    operation: 'configuration',
    file: 'src/platform/node/files.ts',
    find: 'await write(file);\n    if (mode',
    replace:
      'await fs.promises.rename(temporary, temporary.replace(/\\/\\.(.*)\\.\\d+\\.[0-9a-f]+\\.tmp$/, "/$1"));\n    await write(file);\n    await fs.promises.rename(temporary.replace(/\\/\\.(.*)\\.\\d+\\.[0-9a-f]+\\.tmp$/, "/$1"), temporary);\n    if (mode',
  },
  {
    name: 'a replaced file is readable by everybody',
    operation: 'credential store',
    file: 'src/auth/credential-store/guarded-file.ts',
    find: 'host.files.replace(path, text, 0o600)',
    replace: 'host.files.replace(path, text)',
  },
  {
    name: 'a short write is taken for a whole one',
    operation: 'mock journal',
    file: 'src/platform/node/files.ts',
    find: 'while (at < bytes.length) at += fs.writeSync(file, bytes, at);',
    replace: 'at += fs.writeSync(file, bytes, 0);',
  },
  {
    name: 'the lock of the credentials is released before the write',
    operation: 'credential store',
    file: 'src/auth/credential-store/store.ts',
    find: 'await write(host, path, next, key);',
    replace: 'await lock?.release(); await write(host, path, next, key);',
  },
  {
    name: 'the credentials are read before the lock is taken',
    operation: 'credential store',
    file: 'src/auth/credential-store/store.ts',
    find: "const lock = await lockAt('credentials.lock', { waitMs: 120_000 });\n      try {\n        const { data, key = await makeKey(store) } = await open(host, store, path);",
    replace:
      "const early = await open(host, store, path);\n      const lock = await lockAt('credentials.lock', { waitMs: 120_000 });\n      try {\n        const { data, key = await makeKey(store) } = early;",
  },
  {
    name: 'the key of the credentials is created and not replaced',
    operation: 'credential store',
    file: 'src/auth/credential-store/store.ts',
    find: 'await store.host.files.replace(path, text, 0o600);',
    replace: 'await store.host.files.create(path, text, 0o600);',
  },
  {
    name: 'a living holder of a lock is taken for gone',
    operation: 'credential store',
    file: 'src/platform/process-identity.ts',
    find: "if (isThere) return 'alive';",
    replace: '',
  },
  {
    name: 'two take over one lock',
    operation: 'credential store',
    file: 'src/platform/file-lock.ts',
    find: 'if (await host.files.create(claim, JSON.stringify(mine), 0o600, true))',
    replace: 'await host.files.create(claim, JSON.stringify(mine), 0o600, true); if (true)',
  },
  {
    name: 'a lock that a killed command left is never taken over',
    operation: 'configuration',
    file: 'src/platform/file-lock.ts',
    find: ': await takeOver(host, path, seen, mine);',
    replace: ': false;',
  },
  {
    name: 'settings are changed without the lock',
    operation: 'configuration',
    file: 'src/config/store.ts',
    find: 'return withLock(host, `${file}.lock`, act);',
    replace: 'return act();',
  },
  {
    name: 'the journal is not synced before the next one is begun',
    operation: 'mock journal',
    file: 'src/mock-server/journal.ts',
    find: 'this.#file.sync();\n    this.#file.close();',
    replace: 'this.#file.close();',
  },
  {
    name: 'the size of a journal is noted before it is on the disk',
    operation: 'mock journal',
    file: 'src/mock-server/journal.ts',
    find: 'this.#file.sync();\n    await noteSizes(',
    replace: 'await noteSizes(',
  },
  {
    name: 'a change is acknowledged before it is written',
    operation: 'mock journal',
    file: 'src/mock-server/journal.ts',
    find: 'return this.#next;\n',
    replace: 'return undefined;\n',
  },
  {
    name: 'old journals are removed before the snapshot is whole',
    operation: 'mock journal',
    file: 'src/mock-server/journal.ts',
    find: 'this.#snapshotBytes = await this.#files.replaceStream(',
    replace:
      'for (let old = before; old > 0 && (await this.#removeGeneration(old)); old--);\n    this.#snapshotBytes = await this.#files.replaceStream(',
  },
  {
    name: 'a torn line at the end of a journal is not cut off',
    operation: 'mock journal',
    file: 'src/mock-server/journal.ts',
    find: 'await files.truncate(path, goodBytes);',
    replace: ';',
  },
  {
    name: 'a row is sent before the journal says so',
    operation: 'bulk',
    file: 'src/tracker/bulk/run.ts',
    find: 'await journal.noteSent(marked.line, marked.hash, earlier);',
    replace: '',
  },
  {
    name: 'a row is done before it is sent',
    operation: 'bulk',
    file: 'src/tracker/bulk/run.ts',
    find: 'let answer = await lost.call(() => call(input));',
    replace:
      'journal.noteDone(line, hash, undefined); journal.flush(); let answer = await lost.call(() => call(input));',
  },
  {
    name: 'a row in doubt is not looked up',
    operation: 'bulk',
    file: 'src/tracker/bulk/run.ts',
    find: "const isInDoubt = ready.verb === 'create' &&",
    replace: "const isInDoubt = (ready.verb as string) === 'never' &&",
  },
  {
    name: 'a write whose answer was lost is sent again',
    operation: 'bulk',
    file: 'src/api/send.ts',
    find: "if (outcome.kind === 'failed') return SAFE.has(method) || !outcome.sent ? backoff() : undefined;",
    replace: "if (outcome.kind === 'failed') return backoff();",
  },
  {
    name: 'a member is stopped without a last look at the others',
    operation: 'kv upgrade',
    file: 'src/kv/upgrade/execute/member.ts',
    find: 'if (finding !== undefined) {',
    replace: 'if (finding !== undefined && (finding.level as string) === "never") {',
  },
  {
    name: 'a health check passes at once',
    operation: 'kv upgrade',
    file: 'src/kv/upgrade/execute/member.ts',
    find: 'const { name } = gate.member;\n  let down_ms: number | undefined;',
    replace:
      'const { name } = gate.member;\n  if (gate.isOld !== true) { run.members.add(name, gate.exited); return {}; }\n  let down_ms: number | undefined;',
  },
  {
    name: 'a member that was stopped before a crash is not started again',
    operation: 'kv upgrade',
    file: 'src/kv/upgrade/decide.ts',
    find: "  stopped: ['copy-data', 'check-data', 'configure', 'start', 'gate', 'settle'],",
    replace: "  stopped: ['gate', 'settle'],",
  },
  {
    name: 'a restore that goes on swaps a directory again',
    operation: 'kv restore',
    file: 'src/kv/upgrade/restore/execute.ts',
    find: 'const before = progress.keptOf(step.name);',
    replace: 'const before = undefined as string | undefined;',
  },
  {
    name: 'a restore that goes on starts anew',
    operation: 'kv restore',
    file: 'src/kv/upgrade/restore/execute.ts',
    find: 'const goesOn =',
    replace: "const goesOn = path === '' &&",
  },
  {
    name: 'a follower answers reads without asking its leader',
    operation: 'kv members',
    file: 'src/etcd-sim/raft/raft.ts',
    find: 'first && isConfirmed(first.round); first',
    replace: 'first && (isConfirmed(first.round) || true); first',
  },
];

/** Plays histories until the bug appears or until `histories` histories have finished. */
export const huntFor = async ({ name: _, operation, ...change }, seed, histories) => {
  const directory = mkdtempSync(join(tmpdir(), 'opsctl-bug-'));
  try {
    const program = await buildSimulator(join(directory, 'simulator.mjs'), [change]);
    const args = [
      '--operation',
      operation,
      '--seed',
      seed,
      '--histories',
      String(histories),
      '--failures',
      '1',
    ];
    const { stdout } = spawnSync(process.execPath, [program, ...args], { encoding: 'utf8', maxBuffer: 1e8 });
    const { histories: played, failures } = JSON.parse(stdout);
    return { played, broken: failures[0]?.broken[0] };
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
};

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const options = { only: { type: 'string' }, seed: { type: 'string', default: '1' } };
  const { values } = parseArgs({ options });
  const wanted = bugs.filter(({ name }) => values.only === undefined || name.includes(values.only));
  let found = 0;
  for (const bug of wanted) {
    const { played, broken } = await huntFor(bug, values.seed, WITHIN);
    if (broken !== undefined) found += 1;
    process.stdout.write(
      broken === undefined
        ? `NOT FOUND in ${played}: ${bug.operation}: ${bug.name}\n`
        : `found after ${played}: ${bug.operation}: ${bug.name}: ${broken.split('\n')[0].slice(0, 160)}\n`,
    );
  }
  process.stdout.write(
    `${found} of ${wanted.length} found within ${WITHIN} histories each, seed ${values.seed}\n`,
  );
  process.exitCode = found === wanted.length ? 0 : 1;
}
