import { expect, it } from 'vitest';
import { observationText, planText } from '../../src/upgrade/texts.ts';
import { observed, planned, seen } from '../support/observations.ts';

it('the first line says how far a mixed cluster is', () => {
  expect(observationText(observed()).split('\n')[0]).toBe('cluster test: version 3.3.0, leader n1');
  const mixed = observed([seen('n1'), seen('n2', { server_version: '3.4.23' }), seen('n3')]);
  expect(observationText(mixed).split('\n')[0]).toBe('cluster test: version 3.3.0 (mixed: 1 of 3 members run 3.4), leader n1');
});
it('a small database has a size too', () => {
  expect(observationText(observed([seen('n1')]))).toContain('20 KiB');
  expect(observationText(observed([seen('n1', { db_size_bytes: 3_000_000 })]))).toContain('2.9 MiB');
});
it('the plan names the leader, and what its stop means before 3.3', () => {
  expect(planText(planned()).split('\n')[0]).toContain('in the order n2, n3, n1 (leader)');
  expect(planText(planned())).not.toContain('may wait until its client gives up');
  const old = observed(
    ['n1', 'n2', 'n3'].map((name) =>
      seen(name, {
        server_version: '3.2.32',
        cluster_version: '3.2.0',
        host: { ...seen(name).host, old_binary_version: '3.2.32', new_binary_version: '3.3.27' },
      }),
    ),
  );
  const lines = planText(planned(old)).split('\n');
  expect(lines.filter((line) => line.includes('may wait until its client gives up')).map((line) => line.trim().slice(0, 11))).toEqual([
    '10. stop n1',
  ]);
});
