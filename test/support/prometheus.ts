/** A real Prometheus that scrapes one target every 200 ms and has one alert: `affected > 0`. */
import { spawn } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { freePorts } from '../../src/platform/node/ports.ts';
import { realPrometheus } from '../real/services.mjs';
import { hangTimer } from './hang.ts';

export type Alerting = {
  readonly url: string;
  /** Sets the value that the target returns from the next scrape on. Resolves when the alert has changed accordingly. */
  affect(isAffected: boolean): Promise<void>;
  close(): Promise<void>;
};

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

export const startPrometheus = async (directory: string): Promise<Alerting> => {
  const found = realPrometheus();
  if ('missing' in found) throw new Error(found.missing);
  let value = 0;
  const target = createServer((_, reply) => {
    reply.setHeader('content-type', 'text/plain; version=0.0.4').end(`affected ${value}\n`);
  });
  await new Promise<void>((resolve) => target.listen(0, '127.0.0.1', resolve));
  const { port } = target.address() as AddressInfo;
  const [own = 0] = await freePorts(1);
  mkdirSync(directory, { recursive: true });
  // A scrape that times out on a busy machine does not end the alert.
  const expr = 'last_over_time(affected[1m]) > 0';
  const rules = {
    groups: [{ name: 'users', interval: '200ms', rules: [{ alert: 'UsersAffected', expr }] }],
  };
  writeFileSync(join(directory, 'rules.yml'), JSON.stringify(rules));
  const scrape = { job_name: 'users', static_configs: [{ targets: [`127.0.0.1:${port}`] }] };
  const config = {
    global: { scrape_interval: '1s', scrape_timeout: '1s' },
    rule_files: [join(directory, 'rules.yml')],
    scrape_configs: [scrape],
  };
  writeFileSync(join(directory, 'prometheus.yml'), JSON.stringify(config));
  const words = [
    '--config.file',
    join(directory, 'prometheus.yml'),
    '--storage.tsdb.path',
    join(directory, 'data'),
    '--web.listen-address',
    `127.0.0.1:${own}`,
  ];
  const child = spawn(found.server, words, { stdio: 'ignore' });
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const url = `http://127.0.0.1:${own}`;
  const count = async (query: string): Promise<number | undefined> => {
    const reply = await fetch(`${url}/api/v1/query?query=${encodeURIComponent(query)}`).catch(
      () => undefined,
    );
    const body = reply?.ok ? ((await reply.json()) as { data: { result: unknown[] } }) : undefined;
    return body?.data.result.length;
  };
  const until = async (query: string, wanted: number): Promise<void> => {
    for (const isHung = hangTimer(); !isHung(); ) {
      if ((await count(query)) === wanted) return;
      await pause(50);
    }
    throw new Error(`${query} has not ${wanted} samples`);
  };
  await until('affected', 1);
  return {
    url,
    affect: async (isAffected) => {
      value = isAffected ? 1 : 0;
      await until('ALERTS{alertstate="firing"}', isAffected ? 1 : 0);
    },
    close: async () => {
      child.kill('SIGKILL');
      await exited;
      target.closeAllConnections();
      target.close();
    },
  };
};
