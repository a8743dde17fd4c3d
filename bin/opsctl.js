#!/usr/bin/env node
// Answers --version, help and TAB from files made by the build; only everything else loads the program.
// CommonJS, as all of dist is: the loader of ES modules alone costs a fifth of the start of Node.
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
if (major < 20 || (major === 20 && minor < 19)) {
  process.stderr.write(`opsctl needs Node 20.19 or newer; this is ${process.version}\n`);
  process.exit(3);
}
const fs = require('node:fs');
const { join } = require('node:path');

const dist = join(__dirname, '..', 'dist');
const args = process.argv.slice(2);
const first = args[0];
/** The last resort: the message of an unforeseen error may quote a secret, so only its kind and its places are kept. */
const crashed = (error) => {
  const { reportCrash } = require('../dist/crash.js');
  process.exit(reportCrash(error));
};
process.on('uncaughtException', crashed);
process.on('unhandledRejection', crashed);
const main = () => require('./load.js').load(join(dist, 'main.js')).main(args).catch(crashed);
const print = (name) => {
  let rest;
  try {
    rest = fs.readFileSync(join(dist, name));
    // A pipe may accept a part of the page.
    while (rest.length > 0) rest = rest.subarray(fs.writeSync(1, rest));
  } catch (error) {
    // A full pipe that does not block: the stream waits for its reader.
    if (error.code === 'EAGAIN') process.stdout.write(rest);
    // A closed pipe (`| head`) is the choice of the reader. The program reports all other errors.
    else if (error.code !== 'EPIPE') main();
  }
};

/** A file, a pipe and /dev/null are not terminals. Loading node:tty to learn that costs a tenth of the start of Node. */
const isTerminal = () => {
  try {
    const { mode, rdev } = fs.fstatSync(1);
    const isDevice = (mode & fs.constants.S_IFMT) === fs.constants.S_IFCHR;
    if (process.platform === 'linux' && (!isDevice || rdev >> 8 === 1)) return false;
  } catch {
    // A closed stream: node:tty knows that too.
  }
  return require('node:tty').isatty(1);
};
/** The page that the build wrote for this line, as wide as a page is without a terminal. */
const helpFile = () => {
  if (args.length === 0 || (args.length === 1 && first === 'help')) return 'help.txt';
  const words = args.slice(0, -1);
  const asks =
    ['--help', '-h'].includes(args.at(-1)) && words.every((word) => /^[a-z][a-z0-9-]*$/.test(word));
  const name = words.length === 0 ? 'help.txt' : join('help', `opsctl.${words.join('.')}.txt`);
  return asks && fs.existsSync(join(dist, name)) ? name : undefined;
};
if (!fs.existsSync(join(dist, 'main.js'))) {
  process.stderr.write('opsctl is not built yet: run `npm ci && npm run build` in its directory\n');
  process.exitCode = 3;
} else if (args.length === 1 && (first === '--version' || first === '-V')) print('version.txt');
else if (first === '__complete' || first === '__describe')
  require('../dist/complete.js').complete(args.slice(1), first === '__describe');
else {
  const page = helpFile();
  // On a terminal the page is as wide as that is.
  if (page !== undefined && process.env.COLUMNS === undefined && !isTerminal()) print(page);
  else main();
}
