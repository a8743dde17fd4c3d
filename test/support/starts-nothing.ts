/** For the fast tests: rejects a test that starts a server or a program, because that test belongs to the services. */
import { ChildProcess } from 'node:child_process';
import { Server } from 'node:net';

const refuse = (what: string): never => {
  throw new Error(
    `a fast test starts ${what}: name its file *.services.test.ts, or *.real.test.ts if it needs more than Node`,
  );
};
Server.prototype.listen = () => refuse('a server');
Object.assign(ChildProcess.prototype, { spawn: ({ file }: { readonly file: string }) => refuse(file) });
