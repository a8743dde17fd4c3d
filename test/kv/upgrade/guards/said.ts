import { findingsOf } from '../../../../src/kv/upgrade/guards/all.ts';
import type { GuardInput } from '../../../../src/kv/upgrade/guards/guard.ts';
import type { ClusterFile, MemberStatus, Observation } from '../../../../src/kv/engine/model.ts';
import { clusterFile, observed, planOptions, seen } from '../../../support/observations.ts';

/** Input of a guard: the differences from a healthy cluster of three members. */
export type Given = {
  readonly members?: readonly MemberStatus[];
  readonly cluster?: ClusterFile;
} & Partial<Omit<Observation, 'members' | 'cluster'>>;
export const input = ({ members, cluster, ...patch }: Given, more: Partial<GuardInput> = {}): GuardInput => ({
  ...{ observation: observed(members, patch), cluster: cluster ?? clusterFile(members?.length ?? 3) },
  ...{ options: planOptions(), from: '3.3', to: '3.4' },
  ...more,
});
/** Returns the findings of one guard, for example `fail n2: message`. */
export const said = (guard: string, given: Given, more: Partial<GuardInput> = {}): string[] =>
  findingsOf(input(given, more))
    .filter((one) => one.guard === guard)
    .map(({ level, member, message }) => `${level}${member === undefined ? '' : ` ${member}`}: ${message}`);
export const hints = (guard: string, given: Given, more: Partial<GuardInput> = {}) =>
  findingsOf(input(given, more))
    .filter((one) => one.guard === guard)
    .map(({ hint }) => hint);
export const second = (patch: Partial<MemberStatus>): MemberStatus[] => [
  seen('n1'),
  seen('n2', patch),
  seen('n3'),
];
