/** moto's server from Debian: an S3-compatible service that supports multipart uploads and lists them. */
import { spawn } from 'node:child_process';
import { freePorts } from '../../src/platform/node/ports.ts';
import { realMoto } from '../real/services.mjs';

export type Moto = {
  readonly url: string;
  close(): Promise<void>;
};

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

export const startMoto = async (): Promise<Moto> => {
  const found = realMoto();
  if ('missing' in found) throw new Error(found.missing);
  const [port = 0] = await freePorts(1);
  const [command = '', ...first] = found.server;
  const child = spawn(command, [...first, '-H', '127.0.0.1', '-p', String(port)], {
    env: { ...process.env, ...found.env },
    stdio: 'ignore',
  });
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const url = `http://127.0.0.1:${port}`;
  const isUp = (): Promise<boolean> =>
    fetch(`${url}/moto-api/`).then(
      ({ ok }) => ok,
      () => false,
    );
  for (let i = 0; !(await isUp()); i += 1) {
    if (child.exitCode !== null || i > 2400)
      throw new Error(`moto did not start (exit code ${child.exitCode})`);
    await pause(50);
  }
  return {
    url,
    close: async () => {
      child.kill('SIGKILL');
      await exited;
    },
  };
};
