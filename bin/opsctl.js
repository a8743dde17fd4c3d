#!/usr/bin/env node
// Answers --version, root help and TAB from files made by the build; only everything else loads the program.
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
if (major < 20 || (major === 20 && minor < 19)) {
  process.stderr.write(`opsctl needs Node 20.19 or newer; this is ${process.version}\n`);
  process.exit(3);
}
const fs = process.getBuiltinModule('node:fs');
const dist = new URL('../dist/', import.meta.url);
const args = process.argv.slice(2);
const first = args[0];
/** The last resort: the message of an unforeseen error may quote a secret, so only its kind and its places are kept. */
const crashed = async (error) => {
  const { reportCrash } = await import('../dist/crash.js');
  process.exit(reportCrash(error));
};
process.on('uncaughtException', crashed);
process.on('unhandledRejection', crashed);
const main = async () => (await import('../dist/main.js')).main(args).catch(crashed);
const print = async (name) => {
  try {
    fs.writeSync(1, fs.readFileSync(new URL(name, dist), 'utf8'));
  } catch (error) {
    // A closed pipe (`| head`) is the reader's wish, not an error; the program itself reports all others.
    if (error.code !== 'EPIPE') await main();
  }
};

if (!fs.existsSync(new URL('main.js', dist))) {
  process.stderr.write('opsctl is not built yet: run `npm ci && npm run build` in its directory\n');
  process.exitCode = 3;
} else if (args.length === 1 && (first === '--version' || first === '-V')) await print('version.txt');
else if (
  // On a terminal the page is as wide as that is.
  !process.getBuiltinModule('node:tty').isatty(1) &&
  process.env.COLUMNS === undefined &&
  (args.length === 0 || (args.length === 1 && (first === '--help' || first === '-h' || first === 'help')))
)
  await print('help.txt');
else if (first === '__complete' || first === '__describe')
  (await import('../dist/complete.js')).complete(args.slice(1), first === '__describe');
else await main();
