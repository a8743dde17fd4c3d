/** For the fast tests: whoever starts a server or a program belongs to the services, and is told. */
import { ChildProcess } from 'node:child_process';
import { Server } from 'node:net';

const refuse = (what: string): never => {
  throw new Error(
    `a fast test starts ${what}: name its file *.services.test.ts, or *.real.test.ts if it needs more than Node`,
  );
};
Server.prototype.listen = () => refuse('a server');
Object.assign(ChildProcess.prototype, { spawn: ({ file }: { readonly file: string }) => refuse(file) });
