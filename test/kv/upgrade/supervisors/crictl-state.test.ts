import { expect, it } from 'vitest';
import { crictlState } from '../../../../src/kv/upgrade/supervisors/static-pod.ts';
import { covers } from '../../../support/covers.ts';
import { naming } from '../../../support/facts.ts';

const sinceMs = 1_700_000_000_000;
const container = (state: string, afterMs: number, attempt = 0, pod = 'etcd-node1') => ({
  id: 'c0ffee',
  metadata: { name: 'etcd', attempt },
  image: { image: 'registry/etcd:3.5.9-0' },
  state,
  createdAt: `${sinceMs + afterMs}000000`,
  labels: { 'io.kubernetes.container.name': 'etcd', 'io.kubernetes.pod.name': pod },
});
const stateOf = (...containers: unknown[]) =>
  crictlState(JSON.stringify({ containers }), { name: 'etcd', sinceMs });

it.each([
  ['CONTAINER_CREATED', 'starting'],
  ['CONTAINER_RUNNING', 'starting'],
  ['CONTAINER_EXITED', 'gone'],
  ['CONTAINER_UNKNOWN', 'unknown'],
])('%s of a member without a process is %s', covers('defect/U-3'), (state, expected) => {
  expect(stateOf(container(state, 10))?.state).toBe(expected);
});
it('the newest container counts, and reports which attempt ended', () => {
  expect(stateOf(container('CONTAINER_EXITED', 10), container('CONTAINER_CREATED', 20, 1))?.state).toBe(
    'starting',
  );
  expect(stateOf(container('CONTAINER_EXITED', 20, 2), container('CONTAINER_CREATED', 10))).toEqual({
    state: 'gone',
    reason: naming('3', 'container', 'attempt', 'logs'),
  });
});
it('a container without an attempt is at its first one', () => {
  const { metadata: _, ...bare } = container('CONTAINER_EXITED', 10);
  for (const one of [bare, { ...bare, metadata: { name: 'etcd' } }])
    expect(stateOf(one)).toMatchObject({
      state: 'gone',
      reason: naming('container', 'exited', 'crictl logs', 'cause'),
    });
});
it('a container of the previous version, or of another pod, is ignored', () => {
  expect(stateOf(container('CONTAINER_EXITED', -10))).toBeUndefined();
  expect(stateOf(container('CONTAINER_EXITED', 10, 0, 'kube-apiserver-node1'))).toBeUndefined();
  expect(stateOf()).toBeUndefined();
});
it('an invalid response, an unknown state, or a pod without a name is ignored', () => {
  expect(crictlState('connect: refused', { name: 'etcd', sinceMs })).toBeUndefined();
  expect(crictlState('{"containers":[null,{"state":7}]}', { name: 'etcd', sinceMs })).toBeUndefined();
  expect(stateOf(container('CONTAINER_PAUSED', 10))).toBeUndefined();
  const ended = JSON.stringify({ containers: [container('CONTAINER_EXITED', 10)] });
  expect(crictlState(ended, { name: '', sinceMs })).toBeUndefined();
  expect(crictlState(ended, { name: 'etcd', sinceMs: Number.NaN })).toBeUndefined();
});
