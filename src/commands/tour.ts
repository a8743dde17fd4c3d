import { childPath, pathPart } from '../core/file-name.ts';
import { join } from 'node:path';
import { bool } from '../core/field.ts';
import { durationText } from '../core/duration.ts';
import { rawResult } from '../core/result.ts';
import { defineCommand, type Command } from '../cli/command.ts';
import { type Trip, tour } from '../support/travel.ts';

const last = `
Next:
  opsctl --help                       all commands
  opsctl mock serve                   the services as a server for your own scripts
  opsctl config set tracker.url URL   talk to a real deployment
  opsctl kv init                      write the file of your own cluster
`;

const command = defineCommand({
  path: ['tour'],
  noDryRun: 'opsctl tour --help',
  summary: 'All three jobs end to end on the embedded services',
  about:
    'Runs the real commands in a directory of its own, prints each of them and what it answers, and removes the directory at the end. Your own settings are not touched.',
  flags: { keep: { field: bool(), summary: 'Keep the directory to look around' } },
  run: async (context, values) => {
    const { host } = context;
    const directory = childPath(
      host.files.temporaryDirectory(),
      pathPart(`opsctl-tour-${Buffer.from(host.random(4)).toString('hex')}`),
    );
    await host.files.makeDirectory(directory, 0o700);
    const own = Object.fromEntries(
      Object.keys(host.env).flatMap((name) => (name.startsWith('OPSCTL_') ? [[name, undefined]] : [])),
    );
    const trip: Trip = { context, directory, env: { ...own, OPSCTL_HOME: join(directory, 'home') } };
    const start = host.elapsed();
    try {
      await tour(trip);
    } finally {
      if (!values.keep) await host.files.remove(directory);
    }
    return rawResult(
      `\nAll three jobs done in ${durationText(host.elapsed() - start)}.\n${values.keep ? `Everything is in ${directory}\n` : ''}${last}`,
    );
  },
});

export const commands: readonly Command[] = [command];
