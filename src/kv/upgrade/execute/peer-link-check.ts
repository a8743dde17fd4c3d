import { hexId } from '../../client/hex-id.ts';
import type { Status, Store } from '../../client/etcd-client.ts';
import { linksInLog, peerErrors, readLinks, type PeerLinks } from '../observe/peer-links.ts';
import { memberOf } from '../run.ts';
import { newLines } from '../watch/log-watch.ts';
import { bad, good, unknown, type Check, type Gate, type Verdict } from './gate-verdict.ts';

const tailLines = 400;
/** A server that starts logs an error or two before its peers know it; an error that lasts comes with every attempt. */
const mostErrors = 3;

type Member = { readonly name: string; readonly store: Store; readonly status: Status };
type Link = { readonly from: Member; readonly to: Member };

const logOf = async ({ run }: Gate, name: string): Promise<readonly string[]> => {
  const lines = await run.driver.logTail(memberOf(run, name), tailLines).catch(() => []);
  const mark = run.logMarks?.get(name);
  return mark === undefined ? lines : newLines(mark, lines);
};

/** A leader that its follower knows has reached it; versions before 3.4 do not report their peers. */
const isLeaderOf = ({ from, to }: Link): boolean =>
  to.status.leader_id === from.status.member_id && from.status.leader_id === from.status.member_id;

/** Undefined: neither the metrics nor the log nor the raft state of the members shows it. */
const works = async (gate: Gate, link: Link, links: PeerLinks | undefined): Promise<boolean | undefined> => {
  const id = hexId(link.to.status.member_id);
  if (links !== undefined) return links.get(id) ?? false;
  const logged = linksInLog(await logOf(gate, link.from.name)).get(id);
  return logged ?? (isLeaderOf(link) ? true : undefined);
};

const answering = async ({ member, store, others }: Gate): Promise<readonly Member[]> => {
  const seen = await Promise.all(
    [{ name: member.name, store }, ...others].map(async (one) => ({
      ...one,
      status: await one.store.status().catch(() => undefined),
    })),
  );
  return seen.flatMap(({ status, ...one }) => (status === undefined ? [] : [{ ...one, status }]));
};

const shown = ({ from, to }: Link): string => `${from.name} to ${to.name}`;

type State = { readonly link: Link; readonly ok: boolean | undefined };
const verdictOf = (
  state: readonly State[],
  errors: readonly string[],
  others: readonly Member[],
): Verdict => {
  const names = (wanted: boolean | undefined): string =>
    state
      .filter(({ ok }) => ok === wanted)
      .map(({ link }) => shown(link))
      .join(', ');
  const last =
    errors.length >= mostErrors
      ? ` (${errors.length} errors in its log, the last: ${errors.at(-1)?.slice(0, 300)})`
      : '';
  const [broken, unseen] = [names(false), names(undefined)];
  if (broken !== '') return bad(`no connection between members: ${broken}${last}`);
  if (last !== '') return bad(`connections to other members fail again and again${last}`);
  return unseen === ''
    ? good(`connected with ${others.map(({ name }) => name).join(', ')} in both directions`)
    : unknown(`neither metrics nor logs show the connections ${unseen}`);
};

/**
 * Every connection between this member and the others, in both directions. A member that reaches no peer still follows a leader that reaches it,
 * and answers every request of a client. Members that do not answer are not counted here.
 */
export const peerLinksWork: Check = async (gate) => {
  const [own, ...others] = await answering(gate);
  if (own === undefined || own.name !== gate.member.name) return bad('does not report its status');
  if (others.length === 0) return good('no other member answers');
  const pages = new Map(
    await Promise.all(
      [own, ...others].map(async ({ name, store }) => [name, await readLinks(store)] as const),
    ),
  );
  const links = others.flatMap((other): Link[] => [
    { from: own, to: other },
    { from: other, to: own },
  ]);
  const state = await Promise.all(
    links.map(async (link) => ({ link, ok: await works(gate, link, pages.get(link.from.name)) })),
  );
  return verdictOf(state, peerErrors(await logOf(gate, own.name)), others);
};
