import { expect, test } from 'vitest';
import { recorder } from '../../../../src/kv/upgrade/execute/session.ts';
import type { Unstamped, UpgradeEvent } from '../../../../src/kv/engine/model.ts';
import { fakeHost } from '../../../support/fake-host.ts';

const write = (ok: boolean): Unstamped => ({ event: 'canary', ok, latency_ms: 3, member: 'n1' });
const note: Unstamped = { event: 'note', level: 'info', text: 'a note' };
const made = () => {
  const told: UpgradeEvent[] = [];
  return { told, run: recorder(fakeHost(), (event) => told.push(event)) };
};

test('writes that went well are kept up to 200,000, and everything else as long as the run is', () => {
  const { told, run } = made();
  run.events.length = 199_999;
  for (const event of [write(true), write(true), write(false), note]) run.emit(event);
  expect(run.events.slice(199_999)).toMatchObject([write(true), write(false), note]);
  expect(told).toHaveLength(4);
});

test('a leader change seen by two members is reported once, and so is each later change', () => {
  const { told, run } = made();
  for (const to of ['n2', 'n2', 'n3', 'n2']) run.emit({ event: 'leader-changed', to });
  expect(told).toMatchObject([{ to: 'n2' }, { to: 'n3' }, { to: 'n2' }]);
  expect(run.events).toHaveLength(3);
});

test('an event contains its time, by the clock and since the start', async () => {
  const host = fakeHost();
  host.advance(700);
  const run = recorder(host, () => {});
  expect([run.startedMs, run.startedAt]).toEqual([700, new Date(host.now()).toISOString()]);
  await host.sleep(1500);
  run.emit(note);
  expect(run.events).toMatchObject([{ elapsed_ms: 1500, at: new Date(host.now()).toISOString() }]);
});
