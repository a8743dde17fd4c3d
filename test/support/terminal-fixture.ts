/**
 * A program of one terminal call. test/platform/terminal.real.test.ts bundles it and runs it under a real terminal. It writes
 * its result to stdout.
 */
import type { Host } from '../../src/platform/host.ts';
import { nodeHost } from '../../src/platform/node/host.ts';
import { AppError } from '../../src/core/problem.ts';
import { hangTimer } from './hang.ts';

const flood = async (host: Host): Promise<string> => {
  for (let line = 0; ; line++) await host.terminal.stdout.write(`line ${line} ${'x'.repeat(100)}\n`);
};
const lines = async (host: Host): Promise<string> => {
  const all: string[] = [];
  for await (const line of host.terminal.stdin.lines()) {
    all.push(line);
    if (line === 'stop') break;
  }
  return JSON.stringify(all);
};
const signals = async (host: Host): Promise<string> => {
  const got: string[] = [];
  // The test sends the second signal after the program reports the first, because the system may deliver two pending signals in
  // any order.
  const off = host.onSignal((signal) => {
    got.push(signal);
    if (got.length === 1) void host.terminal.stdout.write('heard one\n');
  });
  await host.terminal.stdout.write('ready\n');
  const isHanging = hangTimer();
  while (got.length < 2 && !isHanging()) {
    await host.sleep(10);
  }
  off();
  return got.join();
};
const spinner = async (host: Host): Promise<string> => {
  const line = await host.terminal.spinner('working');
  await host.sleep(200);
  line.update('still working');
  await host.sleep(200);
  line.stop();
  return 'stopped';
};
const choices = [
  { value: 'a', label: 'Alpha' },
  { value: 'b', label: 'Beta' },
];

const acts: Readonly<Record<string, (host: Host) => Promise<unknown>>> = {
  flood,
  lines,
  signals,
  spinner,
  confirm: (host) => host.terminal.prompts.confirm('Go on?', false),
  text: (host) => host.terminal.prompts.text('Name?', { fallback: 'nobody' }),
  secret: (host) => host.terminal.prompts.text('Token?', { secret: true }),
  select: (host) => host.terminal.prompts.select('Which?', choices),
  facts: async ({ terminal }) =>
    [terminal.stdin.isTty, terminal.stdout.isTty, terminal.stderr.isTty, terminal.stdout.columns].join(),
};

const host = nodeHost();
try {
  await host.terminal.stdout.write(`answer=${await acts[process.argv[2] ?? '']?.(host)}\n`);
} catch (error) {
  const { code } = error as { code?: string };
  const what = error instanceof AppError ? error.category : (code ?? String(error));
  if (code === 'EPIPE') process.stderr.write('closed quietly\n');
  else process.stdout.write(`failed=${what}\n`);
}
