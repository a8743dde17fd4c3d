import { v2CheckLine } from '../guards/no-v2-data.ts';
import { MemberFailure, memberOf } from '../run.ts';
import type { Act } from '../run.ts';
import { assertTrustedProgram } from '../../../platform/trust.ts';
import { limits } from '../../../core/limits.ts';

const withinMs = 120_000;
const clean = /No custom content found in (both v2store and WAL records|v2store)/;

/**
 * Only between a member's stop and its start. The member gets the running version back when there is v2 data, and when that cannot be told:
 * an answer that is not understood is no proof.
 */
export const checkData: Act = async (run, { member: name }) => {
  const member = memberOf(run, name as string);
  const [program, ...args] = v2CheckLine(run.cluster, member.data_dir as string);
  await assertTrustedProgram(run.host, 'utl_binary', [program]);
  const done = await run.host.processes.run(program, args, {
    timeoutMs: withinMs,
    maxBytes: limits.checkOutputBytes,
  });
  const said = `${done.stdout}\n${done.stderr}`;
  const found = clean.exec(said);
  if (done.code === 0 && found !== null)
    return { v2_data: 'none', looked_into: found[1] === 'v2store' ? 'snapshot' : 'snapshot and log' };
  const line =
    said
      .split('\n')
      .map((one) => one.trim())
      .findLast((one) => one !== '') ??
    done.startError ??
    'no answer';
  const isDirty = /detected custom/.test(said);
  throw new MemberFailure(
    member.name,
    isDirty
      ? `${member.name} holds v2 data, and ${run.plan.to} would not start with it: ${line}`
      : `${member.name}: whether it holds v2 data could not be told: ${line}`,
  );
};
