import { isatty } from 'node:tty';
import { complete } from './complete.ts';
import { reportCrash } from './crash.ts';
import { main } from './main.ts';
import { buildFile } from './platform/node/builtin.ts';

/** The entry of the single executable. It behaves like bin/opsctl.js and contains the files of the build. */
const args = process.argv.slice(2);
const [first] = args;

const crash = (error: unknown): never => process.exit(reportCrash(error));
process.on('uncaughtException', crash);
process.on('unhandledRejection', crash);

const text = (path: string): string => buildFile(new URL(path, 'file:///')).toString('utf8');
const print = (name: string): void => {
  try {
    process.getBuiltinModule('node:fs').writeSync(1, text(name));
  } catch (error) {
    // A closed pipe (`| head`) is the reader's wish; the program itself reports all other errors.
    if ((error as { code?: string }).code !== 'EPIPE') void main(args).catch(crash);
  }
};
const wantsVersion = args.length === 1 && (first === '--version' || first === '-V');
const wantsHelp = args.length === 0 || (args.length === 1 && /^(--help|-h|help)$/.test(first ?? ''));

if (wantsVersion) print('version.txt');
else if (wantsHelp && !isatty(1) && process.env.COLUMNS === undefined) print('help.txt');
else if (first === '__complete' || first === '__describe')
  void Promise.resolve(complete(args.slice(1), first === '__describe', text)).catch(crash);
else void main(args).catch(crash);
