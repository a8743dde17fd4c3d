// @ts-check
// `npm run release` makes the files of the current version in release/. With `patch`, `minor`, `major` or a version it
// makes a release: it raises the version, closes the changelog, commits, makes the files, starts the next version and tags. `--dry-run` only
// shows the steps.
import { spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { bundledNames, readAudit, reportAdvisories } from './advisories.mjs';
import { artifactNames, checksumNames, makeArtifacts, optionalParts, pack, sha256 } from './artifacts.mjs';
import { changelogProblems, closeChangelog, sectionsOf } from './changelog.mjs';
import { dayOf, releaseSeconds } from './release-date.mjs';
import { keyIdOf, readSigningKey, SigningProblem } from './signature.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));

class Refusal extends Error {}
/**
 * What prevents a release, and its solution.
 * @typedef {readonly [problem: string, way: string]} Problem
 */
/** @typedef {import('./artifacts.mjs').ReleaseOptions} ReleaseOptions */
/** @typedef {{ version: string, packages: { '': { version: string } } }} Versions */
/** @typedef {{ readonly title: string, readonly run: () => unknown, readonly undo?: () => void }} Step */
/**
 * @typedef {object} Wanted
 * @property {boolean} isDryRun
 * @property {string} to
 * @property {string | undefined} date
 * @property {ReleaseOptions} options
 */
/**
 * @typedef {object} Release
 * @property {string} version
 * @property {string} current
 * @property {string} day
 * @property {string} to
 * @property {string} work
 * @property {ReleaseOptions} options
 */

const HELP = `Usage: npm run release -- [patch|minor|major|VERSION] [flags]

Without a version, make the files of the current version. With a version, make a release of it.

  --dry-run            Show every step and change nothing
  --to DIRECTORY       Directory of the files (default: release)
  --url URL            Where the files will be published, for the Homebrew formula, the Scoop manifest and
                       install.sh (default: the directory on this machine)
  --maintainer TEXT    "Name <address>" of the packages (default: DEBFULLNAME and DEBEMAIL, the author in
                       package.json, or the author of the last commit)
  --skip PART          Do not make deb, rpm, apk or executable; can be repeated
  --date YYYY-MM-DD    Date of the release (default: today)
  --signing-key FILE   Secret key of minisign that signs SHA256SUMS (default: the text in RELEASE_SIGNING_KEY; without
                       both, the release is not signed). RELEASE_SIGNING_PASSWORD contains the password of the key
`;

/** @param {string[]} args */
const git = (...args) => {
  const { status, stdout, stderr, error } = spawnSync('git', args, { cwd: root, encoding: 'utf8' });
  if (error !== undefined) throw new Refusal(`cannot run git: ${error.message}\n  try: install git`);
  return { ok: status === 0, text: stdout.trim(), reason: stderr.trim() };
};
/** @param {string[]} args */
const mustGit = (...args) => {
  const { ok, text, reason } = git(...args);
  if (!ok) throw new Refusal(`git ${args[0]} failed: ${reason}`);
  return text;
};
/** @param {string[]} args */
const runNode = (...args) => {
  const { status, stderr } = spawnSync(process.execPath, args, { cwd: root, encoding: 'utf8' });
  if (status !== 0) throw new Refusal(`node ${args.join(' ')} exited with code ${status}: ${stderr.trim()}`);
};

/** Refuses a release with an advisory for a package inside the program. A registry that returns none leaves the state unknown, which is printed. */
const checkAdvisories = () => {
  const { text, exitCode } = reportAdvisories(readAudit(), bundledNames());
  if (exitCode === 1) throw new Refusal(`${text.trim()}\n  try: npm update, then npm run advisories`);
  if (exitCode !== 0) print(`      ${text.trim()}`);
};

const SEMVER = /^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(?:-([0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?$/;

/** @param {string} version */
const partsOf = (version) => {
  const found = SEMVER.exec(version);
  if (found === null) throw new Refusal(`invalid version "${version}": must be a version such as 1.2.3`);
  const [, major, minor, patch, preRelease] = found;
  return { major, minor, patch, preRelease };
};
/** @param {string} a @param {string} b */
const compare = (a, b) => {
  const [left, right] = [partsOf(a), partsOf(b)];
  for (const part of /** @type {const} */ (['major', 'minor', 'patch']))
    if (left[part] !== right[part]) return Number(left[part]) - Number(right[part]);
  const [one, other] = [left.preRelease, right.preRelease];
  if (one === other) return 0;
  if (one === undefined || other === undefined) return one === undefined ? 1 : -1;
  return one.localeCompare(other, 'en', { numeric: true });
};

/**
 * Returns the version for an argument such as `minor` or `0.3.0-rc.1`.
 * @type {typeof import('./release.mjs').nextVersion}
 */
export const nextVersion = (current, word) => {
  const { major, minor, patch, preRelease } = partsOf(current);
  // 0.2.0-rc.1 becomes 0.2.0 instead of 0.2.1.
  const done = preRelease === undefined ? 1 : 0;
  if (word === 'major')
    return minor === '0' && patch === '0' && !done ? `${major}.0.0` : `${Number(major) + 1}.0.0`;
  if (word === 'minor')
    return patch === '0' && !done ? `${major}.${minor}.0` : `${major}.${Number(minor) + 1}.0`;
  if (word === 'patch') return `${major}.${minor}.${Number(patch) + done}`;
  if (!SEMVER.test(word))
    throw new Refusal(
      `invalid version "${word}": must be patch, minor, major or a version such as 1.2.3\n  try: npm run release -- --help`,
    );
  if (compare(word, current) <= 0)
    throw new Refusal(
      `invalid version ${word}: must be higher than ${current}\n  try: npm run release -- patch`,
    );
  return word;
};

/**
 * Returns all problems that prevent the release, each with its solution, so that one run shows all of them.
 * @param {string} version
 * @returns {readonly Problem[]}
 */
const problemsOf = (version) => {
  if (!git('rev-parse', '--git-dir').ok)
    return [['this directory is not a git checkout', 'run the release in a clone of the repository']];
  /** @type {Problem[]} */
  const problems = [];
  const branch = git('branch', '--show-current').text;
  if (branch !== 'main')
    problems.push([
      branch === ''
        ? 'no branch is checked out (detached HEAD)'
        : `the current branch is "${branch}", not main`,
      'git switch main',
    ]);
  const changes = git('status', '--porcelain').text.split('\n').filter(Boolean);
  if (changes.length > 0) {
    const more = changes.length > 5 ? ` and ${changes.length - 5} more` : '';
    const names = changes.slice(0, 5).map((line) => line.replace(/^.{1,2}\s+/, ''));
    problems.push([
      `the work tree has uncommitted changes: ${names.join(', ')}${more}`,
      'commit them, or run: git stash --include-untracked',
    ]);
  }
  const tagged = git('rev-list', '-1', `v${version}`);
  if (git('rev-parse', '--verify', '--quiet', `refs/tags/v${version}`).ok)
    problems.push([
      `the tag v${version} exists (commit ${tagged.text.slice(0, 8)})`,
      `choose a higher version; only if the tag was never published: git tag --delete v${version}`,
    ]);
  const path = join(root, 'CHANGELOG.md');
  if (!existsSync(path)) problems.push(['CHANGELOG.md does not exist', 'git checkout -- CHANGELOG.md']);
  else problems.push(...changelogProblems(readFileSync(path, 'utf8'), version));
  return problems;
};

/** @param {readonly Problem[]} problems */
const refusalOf = (problems) =>
  new Refusal(
    `${problems.map(([problem, way]) => `${problem}\n  try: ${way}\n`).join('error: ')}  no changes were made`,
  );

/**
 * Returns "Name <address>" for the packages. Debian rejects a maintainer without an address.
 * @param {string | undefined} given
 * @param {NodeJS.ProcessEnv} env
 * @returns {string}
 */
const maintainerOf = (given, env = process.env) => {
  if (given !== undefined) {
    if (/^[^<>\n]+ <[^<>\s@]+@[^<>\s@]+>$/.test(given)) return given;
    throw new Refusal(`invalid --maintainer "${given}": must be "Name <address>"`);
  }
  /** @type {{ readonly author: string }} */
  const { author } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  if (env.DEBEMAIL) return `${env.DEBFULLNAME || author} <${env.DEBEMAIL}>`;
  if (/<.+@.+>/.test(author)) return author;
  const { ok, text } = git('log', '-1', '--format=%an <%ae>');
  return ok && text !== '' ? text : author;
};

/** @param {string} path @param {(value: Versions) => void} change */
const writeJson = (path, change) => {
  const value = JSON.parse(readFileSync(path, 'utf8'));
  change(value);
  writeFileSync(path, `${JSON.stringify(value, null, 2)}\n`);
};

/** @param {string} version */
const raiseVersion = (version) => {
  writeJson(join(root, 'package.json'), (value) => {
    value.version = version;
  });
  writeJson(join(root, 'package-lock.json'), (value) => {
    value.version = version;
    value.packages[''].version = version;
  });
};

/**
 * Rejects a non-empty directory unless a release made it, because the release empties the directory.
 * @param {string} to
 * @returns {readonly Problem[]}
 */
const directoryProblems = (to) => {
  const names = existsSync(to) ? readdirSync(to) : [];
  return names.length > 0 && !names.includes('SHA256SUMS')
    ? [[`${to} is not empty and does not contain a release`, '--to with another directory']]
    : [];
};

/** @param {string} to */
const emptyDirectory = (to) => {
  const problems = directoryProblems(to);
  if (problems.length > 0) throw refusalOf(problems);
  rmSync(to, { recursive: true, force: true });
  mkdirSync(to, { recursive: true });
};

const ACTION = 'action.yml';
/**
 * Writes a value of the environment of action.yml, which is empty between releases.
 * @param {string} text @param {string} name @param {string} value
 */
const withValue = (text, name, value) => {
  const line = new RegExp(`^( +${name}:) '[^'\\n]*'$`, 'm');
  if (!line.test(text) || /['\n]/.test(value)) throw new Refusal(`${ACTION} has no line ${name}: ''`);
  return text.replace(line, (_, start) => `${start} '${value}'`);
};
/**
 * Packs the release in a temporary directory, and writes the checksum of the archive into action.yml. The archive does not
 * contain action.yml. Returns the path of the archive.
 * @param {string} version @param {string} work @param {{ readonly url?: string | undefined }} options
 */
const fixAction = (version, work, { url = '' }) => {
  const { path } = pack(root, work, { SOURCE_DATE_EPOCH: String(releaseSeconds(root, version)) });
  const text = readFileSync(join(root, ACTION), 'utf8');
  const named = withValue(text, 'RELEASE_URL', url.replace(/\/+$/, ''));
  writeFileSync(join(root, ACTION), withValue(named, 'RELEASE_SHA256', sha256(path)));
  return path;
};

/** Empties both values of action.yml: the action of a later commit builds the source of that commit. */
const emptyAction = () => {
  const path = join(root, ACTION);
  const unnamed = withValue(readFileSync(path, 'utf8'), 'RELEASE_URL', '');
  writeFileSync(path, withValue(unnamed, 'RELEASE_SHA256', ''));
};

const START = 'release: start the next version';
/**
 * Returns the steps of a release in order. A dry run prints their titles. `undo` removes what git does not remove.
 * @param {Release} release
 * @returns {readonly Step[]}
 */
const stepsOf = ({ version, current, day, to, work, options }) => {
  /** @type {string | undefined} */
  let packed;
  let hasEmptied = false;
  const changelog = join(root, 'CHANGELOG.md');
  const entries = existsSync(changelog)
    ? (sectionsOf(readFileSync(changelog, 'utf8')).find(({ name }) => /^unreleased$/i.test(name))?.entries ??
      0)
    : 0;
  const names = [...artifactNames(version, options.skip), ...checksumNames(options.key)];
  return [
    {
      title: `Set the version in package.json and package-lock.json: ${current} → ${version}`,
      run: () => raiseVersion(version),
    },
    {
      title: `Close CHANGELOG.md: "Unreleased" (${entries} entries) becomes "[${version}] - ${day}"`,
      run: () => writeFileSync(changelog, closeChangelog(readFileSync(changelog, 'utf8'), version, day)),
    },
    {
      title: 'Build, and write completions and the derived parts of the documentation',
      run: () => runNode('test/tooling/build.mjs', '--docs'),
    },
    {
      title: 'Check the packages inside the program against the advisories of the registry',
      run: checkAdvisories,
    },
    {
      title: `Write the checksum of opsctl-${version}.tgz into ${ACTION}`,
      run: () => {
        packed = fixAction(version, work, options);
      },
    },
    {
      title: `Commit "release: opsctl ${version}" on main`,
      run: () => {
        mustGit('add', '--all');
        mustGit('commit', '--quiet', '--message', `release: opsctl ${version}`);
      },
    },
    {
      title: `Make the files in ${to}, dated ${day}:\n${names.map((name) => `        ${name}`).join('\n')}`,
      run: async () => {
        emptyDirectory(to);
        hasEmptied = true;
        await makeArtifacts(root, to, { ...options, packed });
      },
      undo: () => {
        if (hasEmptied) rmSync(to, { recursive: true, force: true });
      },
    },
    {
      title: `Empty the address and the checksum in ${ACTION}, and commit "${START}" on main`,
      run: () => {
        emptyAction();
        mustGit('commit', '--quiet', '--message', START, '--', ACTION);
      },
    },
    {
      // The last step, so that a release that fails has no tag.
      title: `Tag the commit of the release: v${version}`,
      run: () => mustGit('tag', '--annotate', `v${version}`, '--message', `opsctl ${version}`, 'HEAD~1'),
    },
  ];
};

/** @param {unknown} error */
const messageOf = (error) => (error instanceof Error ? error.message : String(error));
/** @param {string} text */
const print = (text) => process.stdout.write(`${text}\n`);

/**
 * Runs the steps. If a step fails, removes the commits, the changes and the files; the tree was clean before.
 * @param {readonly Step[]} steps
 */
const runSteps = async (steps) => {
  const before = mustGit('rev-parse', 'HEAD');
  for (const [index, { title, run }] of steps.entries()) {
    print(`[${index + 1}/${steps.length}] ${title}`);
    try {
      await run();
    } catch (error) {
      for (const { undo } of steps) undo?.();
      mustGit('reset', '--quiet', '--hard', before);
      throw new Refusal(
        `${messageOf(error)}\n  the release was undone; main is at ${before.slice(0, 8)} as before`,
      );
    }
  }
};

/** @param {Pick<ReleaseOptions, 'key'>} options */
const signedBy = ({ key }) => (key === undefined ? 'not signed' : `signed with the key ${keyIdOf(key)}`);

/** @param {string} word @param {Wanted} wanted */
const makeRelease = async (word, { isDryRun, to, date, options }) => {
  const current = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).version;
  const version = nextVersion(current, word);
  const day =
    date ?? dayOf(process.env.SOURCE_DATE_EPOCH ? releaseSeconds(root, version) : Date.now() / 1000);
  const problems = [...problemsOf(version), ...directoryProblems(to)];
  const work = mkdtempSync(join(tmpdir(), 'opsctl-packed-'));
  const steps = stepsOf({ version, current, day, to, work, options });
  if (isDryRun) {
    print(`Release opsctl ${version} (dry run: nothing is changed, ${signedBy(options)})`);
    for (const [index, { title }] of steps.entries()) print(`[${index + 1}/${steps.length}] ${title}`);
  }
  try {
    if (problems.length > 0) throw refusalOf(problems);
    if (!isDryRun) await runSteps(steps);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
  print(
    `${isDryRun ? 'Then publish' : `Released opsctl ${version}, ${signedBy(options)}. Publish`} it with:
  git push origin main v${version}
  npm publish ${join(to, `opsctl-${version}.tgz`)}
  and upload the files in ${to}`,
  );
};

const parsed = () => {
  try {
    return parseArgs({
      allowPositionals: true,
      options: {
        'dry-run': { type: 'boolean' },
        help: { type: 'boolean', short: 'h' },
        to: { type: 'string' },
        url: { type: 'string' },
        maintainer: { type: 'string' },
        date: { type: 'string' },
        'signing-key': { type: 'string' },
        skip: { type: 'string', multiple: true },
      },
    });
  } catch (error) {
    throw new Refusal(`${messageOf(error).split('. ')[0]}\n  try: npm run release -- --help`);
  }
};

/** @param {string | undefined} file */
const signingKey = (file) => {
  try {
    return readSigningKey(root, file);
  } catch (error) {
    if (!(error instanceof SigningProblem)) throw error;
    throw refusalOf([[error.problem, error.way]]);
  }
};

const main = async () => {
  const { values, positionals } = parsed();
  if (values.help) return print(HELP.trimEnd());
  const key = signingKey(values['signing-key']);
  const [word, extra] = positionals;
  if (extra !== undefined)
    throw new Refusal(`unexpected argument "${extra}"\n  try: npm run release -- --help`);
  const { skip = [], url, date } = values;
  const unknown = skip.find((name) => !(name in optionalParts));
  if (unknown !== undefined)
    throw new Refusal(`invalid --skip ${unknown}: must be one of ${Object.keys(optionalParts).join(', ')}`);
  if (url !== undefined && !/^(https|file):\/\/\S+$/.test(url))
    throw new Refusal(`invalid --url "${url}": must be an https or file URL`);
  if (date !== undefined && (!/^\d{4}-\d\d-\d\d$/.test(date) || Number.isNaN(Date.parse(date))))
    throw new Refusal(`invalid --date "${date}": must be a day such as 2026-12-01`);
  const to = resolve(values.to ?? join(root, 'release'));
  const options = { url, skip, maintainer: maintainerOf(values.maintainer), key };
  // npm consumes --dry-run itself if the two dashes before it are missing.
  const isDryRun = values['dry-run'] === true || process.env.npm_config_dry_run === 'true';
  if (word !== undefined) return makeRelease(word, { isDryRun, to, date, options });
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  if (isDryRun)
    return print(
      [...artifactNames(version, skip), ...checksumNames(key)].map((name) => join(to, name)).join('\n'),
    );
  emptyDirectory(to);
  const { names, sums } = await makeArtifacts(root, to, options);
  print(`${names.map((name) => join(to, name)).join('\n')}\n${sums.trimEnd()}`);
};

if (process.argv[1] === fileURLToPath(import.meta.url))
  await main().catch((/** @type {unknown} */ error) => {
    if (!(error instanceof Error)) throw error;
    process.stderr.write(`error: ${error.message}\n`);
    process.exitCode = 1;
  });
