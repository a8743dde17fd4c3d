import { AppError } from '../../../core/problem.ts';
import { kindOf } from '../plan-kind.ts';
import { memberOf, type Checking } from '../run.ts';
import type { Step } from '../../engine/types.ts';
import type { Run } from '../run.ts';
import { bad, failed, good, skipped, type Check } from './gate-verdict.ts';

/** How a member treats a connection without credentials; absent if that could not be seen. */
type Answer = 'accepted' | 'rejected';
const probes = {
  certificate: 'clients without a certificate',
  plain: 'clients without TLS',
  user: 'clients without a user',
  'peer-certificate': 'peers without a certificate',
  'peer-plain': 'peers without TLS',
} as const;
type Probe = keyof typeof probes;
export type AccessSeen = Readonly<Partial<Record<Probe, Answer>>>;
const names = Object.keys(probes) as Probe[];

const probeMs = 2000;
const plainOf = (url: string): string => url.replace(/^https:/, 'http:');

type Asking = Pick<Checking, 'host' | 'access' | 'cluster' | 'plan'>;
const answerAt = async ({ host }: Asking, url: string): Promise<Answer | undefined> =>
  (await host.network.probe(`${url.replace(/\/+$/, '')}/version`, probeMs)).answer;

/** A read of a key without a user, by whoever has the certificate. */
const userAnswer = async ({ access }: Asking, url: string): Promise<Answer | undefined> => {
  try {
    await access.anonymous(url).range('opsctl/access', { limit: 1, isSerializable: true });
    return 'accepted';
  } catch (error) {
    const code = error instanceof AppError ? error.detail.code : undefined;
    return ['USER_NEEDED', 'PERMISSION_DENIED', 'UNAUTHENTICATED'].includes(code ?? '')
      ? 'rejected'
      : undefined;
  }
};

const peerUrlOf = ({ cluster, plan }: Asking, name: string): string | undefined => {
  const { members, listed } = plan.observation;
  const id = members.find((one) => one.name === name)?.member_id;
  return (
    listed.find((one) => one.id === id)?.peer_urls[0] ??
    cluster.members.find((one) => one.name === name)?.peer_url
  );
};

/** How this member treats clients and peers without credentials. Read-only: nothing secret is sent. */
export const seeAccess = async (asking: Asking, name: string): Promise<AccessSeen> => {
  const { client_url } = memberOf(asking, name);
  const peer = peerUrlOf(asking, name);
  const isTls = client_url.startsWith('https:');
  const isPeerTls = peer?.startsWith('https:') === true;
  const answers: Readonly<Record<Probe, Promise<Answer | undefined> | undefined>> = {
    certificate: isTls ? answerAt(asking, client_url) : undefined,
    plain: isTls ? answerAt(asking, plainOf(client_url)) : undefined,
    user: userAnswer(asking, client_url),
    'peer-certificate': isPeerTls ? answerAt(asking, peer) : undefined,
    'peer-plain': isPeerTls ? answerAt(asking, plainOf(peer)) : undefined,
  };
  const seen = await Promise.all(names.map(async (name_) => [name_, await answers[name_]] as const));
  return Object.fromEntries(seen.filter(([, answer]) => answer !== undefined)) as AccessSeen;
};

/** Before the stop: what the member that runs rejects, its successor must reject too. */
export const recordAccess = async (run: Run, step: Step): Promise<void> => {
  const name = step.member as string;
  const access = await seeAccess(run, name);
  if (access.certificate === undefined && memberOf(run, name).client_url.startsWith('https:'))
    run.emit({
      event: 'note',
      level: 'warn',
      text: `${name}: whether it rejects clients without a certificate could not be seen; its health check cannot prove that the new version does`,
    });
  if (Object.values(access).includes('rejected'))
    run.journal.write({ kind: 'begin', step: step.id, note: { access } });
};

/** How the member treated such connections when this run stopped it first. Absent if it rejected none, and in journals of earlier versions. */
const recordedAccess = ({ journal }: Pick<Checking, 'journal'>, name: string): AccessSeen | undefined => {
  const noted = journal.entries.find(
    (entry) =>
      entry.kind === 'begin' && entry.step === `${name}.stop` && entry.note?.['access'] !== undefined,
  );
  return noted?.kind === 'begin' ? (noted.note?.['access'] as AccessSeen) : undefined;
};

/** An operator who restarts with another configuration may mean it, and says so. */
const isIntended = ({ plan }: Checking): boolean =>
  'options' in plan &&
  kindOf(plan as Run['plan']) === 'restart' &&
  (plan as Run['plan']).options.accept.includes('configuration-fits');

/** Whoever was rejected before is rejected still: a version that ignores a setting about access opens the store without a message. */
export const accessIsKept: Check = async ({ run, member }) => {
  const before = recordedAccess(run, member.name);
  const rejected = names.filter((name) => before?.[name] === 'rejected');
  if (rejected.length === 0)
    return skipped('the version before was not seen to reject anonymous connections');
  const now = await seeAccess(run, member.name);
  const open = rejected.filter((name) => now[name] === 'accepted').map((name) => probes[name]);
  if (open.length > 0 && isIntended(run)) return good(`accepts ${open.join(', ')} now, as accepted`);
  if (open.length > 0)
    return failed(
      `accepts ${open.join(' and ')}, and rejected them before: its configuration does not mean the same to this version`,
    );
  const unseen = rejected.filter((name) => now[name] === undefined).map((name) => probes[name]);
  return unseen.length > 0
    ? bad(`did not answer ${unseen.join(', ')} in time`)
    : good(`rejects ${rejected.map((name) => probes[name]).join(', ')}, as before`);
};
