import { recordResult } from '../../core/result.ts';
import { defineCommand } from '../../cli/command.ts';
import { clusterFlags } from './flags.ts';
import { driverFor } from './driver-for.ts';

import { unfinished } from './unfinished.ts';

export const abort = defineCommand({
  path: ['kv', 'abort'],
  noDryRun: 'opsctl kv status and opsctl kv report show where the upgrade stands',
  summary: 'Give an unfinished run up and leave the members as they are',
  about:
    'Stops and starts nothing. A downgrade that no member has followed yet is cancelled in the store; one that a member has followed stays enabled, and the message names what ends it. Refused while a member is down by the hand of the run: resume or roll back first.',
  flags: clusterFlags,
  run: async (context, values) => {
    const { host, settings, log } = context;
    const { opened, found, plan } = await unfinished(context, values);
    const { observe } = await import('../../kv/upgrade/observe/observe.ts');
    const { giveUp, refuseWhileDown } = await import('../../kv/upgrade/execute/give-up.ts');
    const look = async () => (await observe({ host, ...opened })).members;
    refuseWhileDown(await look());
    await context.confirm(`Give run ${found.run} up? Members stay as they are.`);
    const { takeLocks } = await import('../../kv/engine/take-locks.ts');
    const state = settings.directories.clusters;
    const lock = await takeLocks({ host, state, ...opened, run: found.run, warn: log.warn });
    try {
      const driver = await driverFor(context, opened.cluster);
      // Looked at again: the question may have stood for an hour.
      const members = await look();
      refuseWhileDown(members);
      const report = await giveUp({ host, ...opened, driver, found, plan, members });
      return recordResult(report, { text: report.message, message: report.message });
    } finally {
      await lock.release();
    }
  },
});
