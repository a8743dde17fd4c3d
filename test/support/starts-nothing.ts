/** For the fast tests: whoever starts a server or a program belongs to the services, and is told. */
import { ChildProcess } from 'node:child_process';
import { Server } from 'node:net';

const refuse = (what: string): never => {
  throw new Error(
    `a fast test starts ${what}: name its file under \`services\` in vitest.config.ts, or under \`real\` when it needs more than Node`,
  );
};
Server.prototype.listen = () => refuse('a server');
const { spawn } = ChildProcess.prototype as unknown as Spawning;
type Spawning = { spawn(options: { readonly file: string }): unknown };
Object.assign(ChildProcess.prototype, {
  spawn(this: ChildProcess, options: { readonly file: string }) {
    // The architecture test bundles with it.
    return /esbuild$/.test(options.file)
      ? spawn.call(this as unknown as Spawning, options)
      : refuse(options.file);
  },
});
