// Finds the parts of the machine that the tests on real parts require, fetches missing parts into the test cache without root, and
// describes the parts. `node test/real/parts.mjs` fetches all parts and prints the table.
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { delimiter, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { peers } from '../peers/install.mjs';
import { testCache } from '../tooling/cache.mjs';
import { cachedNode, whyNotNode } from '../tooling/nodes.mjs';
import { realServers, releases } from './etcd.mjs';
import { fetchPackages } from './packages.mjs';
import { realAnsible, realMoto, realPrometheus, realRedis } from './services.mjs';
import { testsReaching } from './reaching.mjs';
import { librariesIn, realSshd } from './sshd.mjs';
import { realSudo } from './sudo.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));
/** Programs of Debian packages: the commands that tests start, their paths in the package, and their requirements. */
const programs = [
  {
    command: 'chromium',
    packages: ['chromium', 'fonts-dejavu-core'],
    binary: 'usr/lib/chromium/chromium',
    variables: (tree) => ({ FONTCONFIG_FILE: fontsFile(tree) }),
  },
  { command: 'ssh', packages: ['openssh-client'] },
  { command: 'ssh-keygen', packages: ['openssh-client'] },
  { command: 'script', packages: ['bsdutils'] },
  { command: 'tmux', packages: ['tmux'] },
  {
    command: 'zsh',
    packages: ['zsh-static', 'zsh-common'],
    binary: 'bin/zsh-static',
    variables: (tree) => ({ FPATH: zshFunctions(tree) }),
  },
  { command: 'fish', packages: ['fish'] },
  { command: 'jq', packages: ['jq'] },
  { command: 'minisign', packages: ['minisign'] },
  { command: 'man', packages: ['man-db'] },
  { command: 'git', packages: ['git'] },
  {
    command: 'python3',
    packages: ['python3'],
    variables: (tree) => ({ PYTHONHOME: join(tree, 'usr'), PYTHONDONTWRITEBYTECODE: '1' }),
  },
  { command: 'dbus-daemon', packages: ['dbus-daemon'] },
  { command: 'gnome-keyring-daemon', packages: ['gnome-keyring'] },
  { command: 'secret-tool', packages: ['libsecret-tools'] },
];

/** Programs search for fonts in /usr/share. This file adds the directory of the extracted fonts. */
const fontsFile = (tree) => {
  const path = join(tree, 'fonts.conf');
  const directory = join(tree, 'usr/share/fonts');
  writeFileSync(
    path,
    `<fontconfig><dir>${directory}</dir><cachedir>${tree}/font-cache</cachedir></fontconfig>\n`,
  );
  return path;
};

const zshFunctions = (tree) => {
  const base = join(tree, 'usr/share/zsh/functions');
  const below = existsSync(base)
    ? readdirSync(base, { recursive: true, withFileTypes: true }).filter((entry) => entry.isDirectory())
    : [];
  return [base, ...below.map((entry) => join(entry.parentPath, entry.name))].join(':');
};

const isOnPath = (command, env) =>
  (env.PATH ?? '')
    .split(delimiter)
    .some((directory) => directory !== '' && existsSync(join(directory, command)));

/** Reads all files under test/ to find the tests that start a command, because a manual list would become outdated. */
const testFiles = () =>
  readdirSync(join(root, 'test'), { recursive: true, withFileTypes: true })
    .filter(
      (entry) => entry.isFile() && /\.(ts|mjs)$/.test(entry.name) && !/node_modules/.test(entry.parentPath),
    )
    .map((entry) => join(entry.parentPath, entry.name))

    .map((path) => ({ name: relative(root, path), text: readFileSync(path, 'utf8') }));
/** The files that find and fetch parts contain the names of all parts but use none of them. */
const isProvider = ({ name }) =>
  /^test\/real\/[^/]*\.m[jt]s$/.test(name) || name === 'test/tooling/parts.test.ts';
const naming = (files, pattern) =>
  testsReaching(
    files.filter(({ name }) => name !== 'test/real/parts.mjs'),
    files.filter((file) => !isProvider(file) && pattern.test(file.text)).map(({ name }) => name),
  );

const release = () =>
  /^VERSION_CODENAME=(\S+)/m.exec(
    existsSync('/etc/os-release') ? readFileSync('/etc/os-release', 'utf8') : '',
  )?.[1] ?? 'stable';

/** A small script that starts an extracted program with the extracted libraries next to it. */
const writeWrapper = (bin, { command, binary = `usr/bin/${command}`, variables }, tree) => {
  const lines = Object.entries(variables?.(tree) ?? {}).map(([name, value]) => `export ${name}='${value}'`);
  mkdirSync(bin, { recursive: true });
  // fish finds its own files in the directory next to it when both directories exist.
  if (existsSync(join(tree, 'etc')) && !existsSync(join(tree, 'usr/etc')))
    symlinkSync('../etc', join(tree, 'usr/etc'));
  writeFileSync(
    join(bin, command),
    [
      '#!/bin/sh',
      `export LD_LIBRARY_PATH='${librariesIn(tree)}'"\${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"`,
      ...lines,
      `exec '${join(tree, binary)}' "$@"`,
      '',
    ].join('\n'),
  );
  chmodSync(join(bin, command), 0o755);
};

/** One part: its name, the reason why it is missing (undefined if it is available), the skipped tests, and its source. */
const programPart = (program, files, env, announce) => {
  const { command, packages, binary = `usr/bin/${command}` } = program;
  const tests = naming(files, new RegExp(`['"\`/]${command}['"\` ]`));
  if (tests.length === 0) return [];
  const part = { name: command, tests, supply: `apt-get install ${packages.join(' ')}` };
  if (isOnPath(command, env) || (command === 'chromium' && env.OPSCTL_CHROMIUM !== undefined)) return [part];
  const cache = testCache(env);
  const tree = join(cache, `debian-${packages[0]}`);
  let missing;
  if (!existsSync(join(tree, binary))) {
    announce(`fetching ${command} (Debian ${packages.join(', ')})`);
    missing = fetchPackages(
      { suite: release(), name: `debian-${packages[0]}`, packages, isWhole: true },
      cache,
    );
  }
  if (missing === undefined) writeWrapper(join(cache, 'bin'), program, tree);
  return [{ ...part, missing }];
};

const serverParts = (files, announce) => {
  const tests = naming(files, /support\/cluster\.ts|real\/etcd/);
  if (realServers({ isFetching: false }).missing.length > 0) announce('fetching real servers of the store');
  const { missing } = realServers();
  return releases.map(({ minor }) => ({
    name: `store ${minor}`,
    tests,
    missing: missing.find((one) => one.minor === minor)?.reason,
    supply: 'node test/real/etcd.mjs',
  }));
};

const atomic = 'libatomic1';
/** Node.js 25 and later requires a library that a small system does not have. */
const atomicIn = (env) => librariesIn(join(testCache(env), `debian-${atomic}`));
/** The library path of the linker: the existing path and the directory of the fetched library. */
const libraryPath = (env) =>
  [...new Set([...(env.LD_LIBRARY_PATH ?? '').split(':'), ...atomicIn(env).split(':')])]
    .filter(Boolean)
    .join(':');
const whyNotNodeHere = (major, announce) => {
  const why = whyNotNode(major);
  if (why === undefined || !why.includes('libatomic')) return why;
  announce(`fetching Debian ${atomic} for Node ${major}`);
  const missing = fetchPackages(
    { suite: release(), name: `debian-${atomic}`, packages: [atomic] },
    testCache(),
  );
  process.env.LD_LIBRARY_PATH = libraryPath(process.env);
  return missing === undefined ? whyNotNode(major) : why;
};
const nodeParts = (files, announce) => {
  const tests = naming(files, /cachedNode\(/);
  const own = Number(process.versions.node.split('.')[0]);
  return [20, 22, 24, 26]
    .filter((major) => major !== own)
    .map((major) => {
      if (cachedNode(major) === undefined) announce(`fetching Node ${major}`);
      const missing = whyNotNodeHere(major, announce);
      return {
        name: `Node ${major}`,
        tests,
        missing,
        supply: missing?.includes('libatomic')
          ? 'apt-get install libatomic1'
          : `node test/tooling/nodes.mjs ${major}`,
      };
    });
};

/** Services and tools of Debian that tests start themselves. test/real/services.mjs contains their paths. */
const servicePart =
  ({ name, find, pattern, supply }) =>
  (files, announce) => {
    announce(`looking for ${name}`);
    return [{ name, tests: naming(files, pattern), missing: find().missing, supply }];
  };
const serviceParts = [
  {
    name: 'prometheus',
    find: realPrometheus,
    pattern: /realPrometheus/,
    supply: 'apt-get install prometheus',
  },
  { name: 'ansible', find: realAnsible, pattern: /realAnsible/, supply: 'apt-get install ansible-core' },
  { name: 'moto', find: realMoto, pattern: /realMoto/, supply: 'apt-get install python3-moto' },
  { name: 'redis', find: realRedis, pattern: /realRedis/, supply: 'apt-get install redis-server' },
].map(servicePart);

const peerParts = (files) => {
  let missing;
  try {
    peers();
  } catch (error) {
    missing = error.message.split('\n').slice(0, 2).join(' ');
  }
  return [
    {
      name: 'peer programs',
      tests: naming(files, /from '.*\/install\.mjs'/),
      missing,
      supply: 'npm install in test/peers',
    },
  ];
};

const sshdPart = (files, announce) => {
  announce('looking for an ssh server');
  const { missing } = realSshd();
  return [
    {
      name: 'sshd',
      tests: naming(files, /ssh-hosts\.ts/),
      missing,
      supply: 'apt-get install openssh-server',
    },
  ];
};

const sudoPart = (files, announce) => {
  announce('looking for a sudo');
  const { missing } = realSudo();
  return [
    { name: 'sudo', tests: naming(files, /loopback-ssh\.ts/), missing, supply: 'a Debian mirror, and root' },
  ];
};

/** Fetches all available parts, announces each part before it fetches the part, and returns all parts. */
export const provideParts = ({ env = process.env, announce = () => undefined } = {}) => {
  const files = testFiles();
  const root = {
    name: 'root',
    tests: naming(files, /getuid\?\.\(\) (!==|===) 0/),
    missing: process.getuid?.() === 0 ? undefined : 'not running as root',
    supply: 'run the tests as root, in a container',
    isOptional: true,
  };
  return [
    ...programs.flatMap((program) => programPart(program, files, env, announce)),
    ...sshdPart(files, announce),
    ...sudoPart(files, announce),
    ...serviceParts.flatMap((part) => part(files, announce)),
    ...serverParts(files, announce),
    ...nodeParts(files, announce),
    ...peerParts(files),
    root,
  ];
};

/** The environment with which the tests find the fetched parts. The parts of the machine itself come first. */
export const partsEnvironment = (env = process.env) => {
  const bin = join(testCache(env), 'bin');
  const browser = join(bin, 'chromium');
  return {
    PATH: [env.PATH, bin].filter(Boolean).join(delimiter),
    ...(atomicIn(env) === '' ? {} : { LD_LIBRARY_PATH: libraryPath(env) }),
    ...(env.OPSCTL_CHROMIUM === undefined && !isOnPath('chromium', env) && existsSync(browser)
      ? { OPSCTL_CHROMIUM: browser }
      : {}),
  };
};

/** The closing table: missing parts, the reasons, the skipped tests, and the sources. It is empty if no part is missing. */
export const missingTable = (parts) =>
  parts
    .filter(({ missing }) => missing !== undefined)
    .flatMap(({ name, missing, tests, supply }) => [
      `${name}: ${missing}`,
      `  leaves out: ${tests.slice(0, 4).join(', ')}${tests.length > 4 ? ` and ${tests.length - 4} more` : ''}`,
      `  supply it:  ${supply}`,
    ]);

/** Missing parts that are a failure: on CI all parts except the parts that CI cannot provide. */
export const failing = (parts, env = process.env) =>
  env.CI === 'true' ? parts.filter(({ missing, isOptional }) => missing !== undefined && !isOptional) : [];

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const parts = provideParts({ announce: (line) => process.stderr.write(`${line}\n`) });
  for (const { name, missing } of parts)
    process.stdout.write(`${missing === undefined ? 'have   ' : 'missing'} ${name}\n`);
  process.stdout.write(
    missingTable(parts)
      .map((line) => `${line}\n`)
      .join(''),
  );
  process.exitCode = failing(parts).length === 0 ? 0 : 1;
}
