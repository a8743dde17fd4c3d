import { AppError } from '../../../core/problem.ts';
import { migrateConfig } from '../configuration/migrate.ts';
import { configOn } from '../switch-version.ts';
import { mebibytes } from '../guards/guard.ts';
import { MemberFailure, memberOf, seenIn } from '../run.ts';
import { kindOf } from '../plan-kind.ts';
import type { Act, Run } from '../run.ts';
import type { MemberSpec, Step, StepKind } from '../../engine/types.ts';
import { walDirOf } from '../supervisors/wal-directory.ts';
import { checkData } from './check-data.ts';
import { confirm } from './confirm.ts';
import { enableDowngrade } from './enable-downgrade.ts';
import { moveLeader } from './move-leader.ts';
import { stopMember } from './member.ts';
import { takeSnapshot } from './snapshot.ts';

const nameOf = (step: Step): string => step.member as string;

const copyData: Act = async (run, step) => {
  const member = memberOf(run, nameOf(step));
  const walDir = walDirOf(member, seenIn(run.plan.observation, member.name).host);
  const ending = `.before-${run.plan.to}-${run.id}`;
  const { path, files, bytes } = await run.driver.copyData(member, ending, walDir);
  return { copy: path, copied: `${files} files, ${mebibytes(bytes)}` };
};

/** A restart may bring a text of its own, from this machine. */
const newConfigOf = async (
  { host, plan }: Pick<Run, 'host' | 'plan'>,
  { name, new_config_file: path }: MemberSpec,
): Promise<string | undefined> => {
  if (kindOf(plan) !== 'restart' || path === undefined) return undefined;
  const text = await host.files.read(path);
  if (text === undefined)
    throw new MemberFailure(name, `${name}: its new configuration ${path} is not there any more`);
  return text;
};

/** The text that was kept before the stop: a second try starts from it, not from a half-migrated file. */
const configure: Act = async (run, step) => {
  const { driver, plan } = run;
  const member = memberOf(run, nameOf(step));
  const path = member.config_file as string;
  const before = (await configOn(run, member)) ?? (await driver.readFile(member, path));
  if (before === undefined)
    throw new MemberFailure(member.name, `${member.name}: its configuration file is not there any more`);
  const wanted = await newConfigOf(run, member);
  const { text, changes } =
    wanted === undefined
      ? await migrateConfig(before, plan.to)
      : { text: wanted, changes: [`${member.new_config_file} put in its place`] };
  await driver.writeFile(member, path, text);
  return { changes };
};

const settle: Act = async (run, step) => {
  const seconds = step.wait_seconds ?? 0;
  const ended = run.members.signal();
  const either = AbortSignal.any([run.signal, ended]);
  const until = run.host.elapsed() + seconds * 1000;
  for (let left = seconds * 1000; left > 0 && !run.signal.aborted; left = until - run.host.elapsed()) {
    run.emit({ event: 'waiting', step, remaining_ms: Math.round(left), reason: step.why });
    await run.host.sleep(Math.min(left, 5000), either).catch(() => {});
    ended.throwIfAborted();
  }
  if (run.signal.aborted)
    throw new AppError('stopped', 'stopped while waiting', {
      code: 'INTERRUPTED',
      tryThis: ['opsctl kv resume'],
    });
  return { waited_seconds: seconds };
};

/** What each kind of step does. `start` and `gate` share a process (startMember, prove); `hold` is the decision before it. */
export const acts: Readonly<Partial<Record<StepKind, Act>>> = {
  snapshot: (run, step) => takeSnapshot(run, step),
  'move-leader': moveLeader,
  stop: stopMember,
  'copy-data': copyData,
  'check-data': checkData,
  configure,
  settle,
  confirm,
  'enable-downgrade': enableDowngrade,
};
