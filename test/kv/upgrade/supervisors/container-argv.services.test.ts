/** What a container, its image and a cluster file contain reaches docker as values: never as flags or as shell text. */
import { chmodSync, existsSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { openDriver } from '../../../../src/kv/upgrade/supervisors/open.ts';
import type { MemberSpec } from '../../../../src/kv/engine/model.ts';
import { placement } from '../../../support/finished.ts';
import { patient, realHost, type RealHost } from '../../../support/real-host.ts';

/** Records its arguments, its environment and the file of variables, and prints the next prepared answer. */
const fakeDocker = (directory: string): string => `#!/bin/sh
D='${directory}'
n=$(ls "$D" | grep -c '^argv') || true
for a in "$@"; do printf '%s\\0' "$a"; done > "$D/argv$n"
tr '\\0' '\\n' < /proc/$PPID/cmdline > "$D/parent$n"
env -0 > "$D/env$n"
file=
for a in "$@"; do [ "$file" = next ] && { cat "$a" > "$D/file$n"; stat -c %a "$a" > "$D/mode$n"; echo "$a" > "$D/name$n"; }; file=; [ "$a" = --env-file ] && file=next; done
case "$1 $2" in
  'inspect -f') exit 1;;
  'inspect '*) cat "$D/container.json";;
  'image inspect') echo '[{}]';;
esac
`;

let real: RealHost;
beforeEach(async () => {
  real = patient(await realHost());
});
const at = (name: string): string => join(real.directory, name);
const nulParts = (name: string): string[] => readFileSync(at(name), 'utf8').split('\0').slice(0, -1);

const hostile = (mark: string): readonly string[] => [
  `$(touch ${mark})`,
  `\`touch ${mark}\``,
  `'; touch ${mark}; '`,
  `"; touch ${mark}; "`,
  `a\ntouch ${mark}\n`,
  `--privileged`,
  `-v/:/host`,
  `\${IFS}&& touch ${mark} #`,
  `ü 🙂 \\ ' " %s`,
  `/x,source=/,readonly=false,"`,
];
/** The fields of a row of CSV, as docker reads the value of `--mount`. */
const csvFields = (row: string): string[] =>
  [...row.matchAll(/(?:^|,)(?:"((?:[^"]|"")*)"|([^,"]*))/g)].map(
    ([, inQuotes, plain]) => inQuotes?.replaceAll('""', '"') ?? plain ?? '',
  );
const SECRET = 's3cret-of-the-container';

/** The arguments of the one \`docker run\` of a start, with its number. */
const startContainer = async (patch: Partial<MemberSpec>, container: object) => {
  const bin = at('docker');
  writeFileSync(bin, fakeDocker(real.directory));
  chmodSync(bin, 0o755);
  writeFileSync(at('container.json'), JSON.stringify([container]));
  const { processes } = real.host;
  const PATH = `${real.directory}:${process.env.PATH}`;
  const host = {
    ...real.host,
    processes: {
      ...processes,
      run: ((command, args, options) =>
        processes.run(command, args, { ...options, env: { ...options?.env, PATH } })) as typeof processes.run,
    },
  };
  const member = { name: 'n1', client_url: 'http://127.0.0.1:1', container: 'c1', ...patch };
  const driver = await openDriver(host, { name: 'c', driver: 'docker', members: [member] });
  const kept = placement({ container: 'c1-old', container_id: 'id1', image: 'i1' }, { image: 'sha256:new' });
  await driver.start(member, 'new', kept);
  const runs = readdirSync(real.directory).filter(
    (name) => name.startsWith('argv') && nulParts(name)[0] === 'run',
  );
  expect(runs).toHaveLength(1);
  const number = (runs[0] as string).slice('argv'.length);
  return { words: nulParts(`argv${number}`), number };
};

test('values of a container follow their flags as they are and run no command', async () => {
  const mark = at('mark');
  const values = hostile(mark);
  const name = `c'$(touch ${mark}) --rm`;
  const container = {
    HostConfig: {
      Binds: values.map((one) => `/data:${one}`),
      ExtraHosts: values,
      Sysctls: Object.fromEntries(values.map((one) => [one, one])),
      Mounts: values.map((one) => ({ Source: `/d,${one},readonly=false`, Target: one })),
    },
    Config: {
      Labels: Object.fromEntries(values.map((one) => [one, one])),
      User: values[0],
      WorkingDir: '--privileged',
      Entrypoint: ['--privileged', ...values],
      Cmd: values,
    },
  };
  const { words } = await startContainer({ container: name }, container);
  expect(existsSync(mark)).toBe(false);
  const mounts = words.filter((_, i) => words[i - 1] === '--mount');
  expect(mounts.map(csvFields)).toEqual(
    values.map((one) => ['type=bind', `source=/d,${one},readonly=false`, `target=${one}`]),
  );
  expect(words).toEqual([
    ...['run', '-d', '--name', name],
    ...values.flatMap((one) => ['-v', `/data:${one}`]),
    ...mounts.flatMap((one) => ['--mount', one]),
    ...values.flatMap((one) => ['--add-host', one]),
    ...values.flatMap((one) => ['--sysctl', `${one}=${one}`]),
    ...['--user', values[0], '--workdir', '--privileged'],
    ...values.flatMap((one) => ['--label', `${one}=${one}`]),
    ...['--entrypoint', '--privileged', 'sha256:new', ...values, ...values],
  ]);
});

test('variables of a container reach docker through a private file or its environment only', async () => {
  const mark = at('mark');
  const values = hostile(mark);
  const isLong = (text: string): boolean => text.includes('\n');
  const Env = [`TOKEN=${SECRET}`, `PEM=-----\n${SECRET}\n-----`, ...values.map((one, i) => `V${i}=${one}`)];
  const { words, number } = await startContainer({}, { Config: { Env } });
  expect(existsSync(mark)).toBe(false);
  expect(readFileSync(at(`file${number}`), 'utf8')).toBe(
    Env.filter((one) => !isLong(one))
      .map((one) => `${one}\n`)
      .join(''),
  );
  expect(readFileSync(at(`mode${number}`), 'utf8').trim()).toBe('600');
  expect(existsSync(readFileSync(at(`name${number}`), 'utf8').trim())).toBe(false);
  for (const long of Env.filter(isLong)) {
    expect(nulParts(`env${number}`)).toContain(long);
    expect(words).toContain(long.split('=')[0]);
  }
  for (const name of readdirSync(real.directory).filter((one) => /^(argv|parent)/.test(one)))
    expect(readFileSync(at(name), 'utf8')).not.toContain(SECRET);
});
