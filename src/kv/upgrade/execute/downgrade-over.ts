import { kindOf } from '../plan-kind.ts';
import type { Run } from '../run.ts';
import type { Observation } from '../../engine/types.ts';
import { cancelStale } from './enable-downgrade.ts';

const answerMs = 1000;
/** The store looks every five seconds whether a downgrade is over; this is twice that and a bit, for where nobody can be asked. */
const blindMs = 12_000;

/** 3.5 does not say in its status whether a downgrade is on; to its peers it does. */
const isOnAt = async ({ host, access }: Run, peerUrl: string): Promise<boolean | undefined> => {
  const request = {
    method: 'GET',
    url: `${peerUrl.replace(/\/+$/, '')}/downgrade/enabled`,
    timeoutMs: answerMs,
    connectTimeoutMs: answerMs,
    maxReplyBytes: 1024,
    ...(access.tls === undefined ? {} : { tls: access.tls }),
  };
  const text = await host.network
    .request(request)
    .then(async (reply) => (reply.status === 200 ? (await reply.text()).trim() : ''))
    .catch(() => '');
  return text === 'true' ? true : text === 'false' ? false : undefined;
};

export type Ending = { isOver(observation: Observation): Promise<boolean>; readonly what: string };

/**
 * Every member runs the older version, and the store still takes the downgrade for unfinished until it looks again. Who upgraded in between would
 * have members of 3.6 in a cluster that is kept at 3.5: spec/store#measured-later-12.
 */
const downgradeEnding = (run: Run): Ending => {
  let since: number | undefined;
  return {
    what: 'and the store still holds the downgrade for unfinished',
    isOver: async ({ listed }) => {
      since ??= run.host.elapsed();
      const urls = listed.flatMap(({ peer_urls }) => peer_urls.slice(0, 1));
      const answers = await Promise.all(urls.map((url) => isOnAt(run, url)));
      if (answers.includes(true)) return false;
      return answers.includes(false) || run.host.elapsed() - since >= blindMs;
    },
  };
};

/** A downgrade that was left on keeps the cluster where it is, whatever its members run: an upgrade to the end takes it back. */
const upgradeEnding = (run: Run): Ending => {
  let isCancelled = false;
  return {
    what: '',
    isOver: async ({ members }) => {
      const left = members.find(({ downgrade_to }) => downgrade_to !== undefined);
      if (left === undefined) return true;
      if (isCancelled) return false;
      isCancelled = true;
      run.emit({
        event: 'note',
        level: 'warn',
        text: `a downgrade to ${left.downgrade_to} was left on and keeps the cluster there: it is cancelled`,
      });
      await cancelStale(run, left);
      return false;
    },
  };
};

export const endingOf = (run: Run): Ending =>
  kindOf(run.plan) === 'downgrade' ? downgradeEnding(run) : upgradeEnding(run);
