import { AppError } from '../../core/problem.ts';
import { recordResult } from '../../core/result.ts';
import type { Result } from '../../core/result.ts';
import { refusalError } from '../../kv/upgrade/refusal-error.ts';
import type { Finding, Plan, Refusal } from '../../kv/engine/types.ts';
import type { Prepared } from './prepare.ts';

/** Why there is no plan, and where every finding is shown. */
export const noPlan = (refusal: Refusal): AppError =>
  refusalError(refusal, (hint) => [
    ...(hint === undefined ? [] : [hint]),
    'opsctl kv check shows every finding',
  ]);

/** A cluster that already runs the target version, and the health findings about it. */
type Arrived = { readonly to: string; readonly findings: readonly Finding[] };

/** Returns undefined if there is something left to do. */
export const findArrived = async ({
  observation,
  opened,
  options,
  made,
}: Pick<Prepared, 'observation' | 'opened' | 'options' | 'made'>): Promise<Arrived | undefined> => {
  const { isArrived, wayOf } = await import('../../kv/upgrade/plan.ts');
  const asked = options.to ?? opened.cluster.to;
  const to = wayOf({ observation, cluster: opened.cluster, options }).to;
  if (asked === undefined || to === undefined || !isArrived(observation, to)) return undefined;
  const { healthFindings } = await import('../../kv/upgrade/guards/all.ts');
  return { to, findings: healthFindings(made.findings) };
};

/** The answer when there is nothing left to do. What is wrong with the cluster is part of it. */
export const arrived = async (prepared: Prepared): Promise<Result | undefined> => {
  const found = await findArrived(prepared);
  if (found === undefined) return undefined;
  const { findingsText } = await import('../../kv/upgrade/present/text.ts');
  const { observation, opened } = prepared;
  const message = `cluster ${opened.cluster.name} runs ${found.to} already`;
  const findings = found.findings.filter(({ level }) => level !== 'pass');
  const text = [
    `${message}: nothing to do`,
    ...(findings.length === 0 ? [] : ['', findingsText(findings), '', 'opsctl kv check shows every finding']),
  ].join('\n');
  return recordResult(
    {
      ok: true,
      outcome: 'done',
      message,
      cluster_version: observation.cluster_version,
      ...(findings.length === 0 ? {} : { findings }),
    },
    { message: `${message}: nothing to do`, text, namesCommands: true },
  );
};

export const digestError = (given: Plan, now: Plan): AppError =>
  new AppError(
    'unsafe',
    `refused, nothing was changed: the cluster no longer matches the plan (${differences(given, now).join('; ')})`,
    {
      code: 'PLAN_OUTDATED',
      tryThis: ['opsctl kv plan --out FILE, and look at it again'],
      data: { given: given.digest, now: now.digest },
    },
  );

const differences = (given: Plan, now: Plan): string[] => {
  const found: string[] = [];
  if (given.cluster !== now.cluster) found.push(`the plan is for ${given.cluster}`);
  if (given.from !== now.from || given.to !== now.to)
    found.push(`the way is ${now.from} → ${now.to}, the plan says ${given.from} → ${given.to}`);
  if (given.order.join() !== now.order.join())
    found.push(`the order is ${now.order.join(', ')}, the plan says ${given.order.join(', ')}`);
  return found.length > 0 ? found : ['members, binaries or commands have changed'];
};
