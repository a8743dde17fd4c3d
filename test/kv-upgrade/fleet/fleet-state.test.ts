import { appendFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { clusterLabels, fleetText, wavesOf } from '../../../src/kv-upgrade/fleet/emit-fleet.ts';
import {
  doneBefore,
  fleetDirectory,
  inProgress,
  openFleetJournal,
} from '../../../src/kv-upgrade/fleet/fleet-journal.ts';
import { realHost } from '../../support/real-host.ts';

describe('the journal of a fleet', () => {
  it('says what a killed run had begun and what was done; a torn last line is cut off', async () => {
    const { host, directory, close } = await realHost();
    const first = await openFleetJournal(host, `${directory}/f`);
    expect(first.before).toEqual([]);
    first.write({ kind: 'opened', fleet: 'f', clusters: ['a', 'b', 'c'] });
    for (const cluster of ['a', 'b']) first.write({ kind: 'began', cluster });
    first.write({ kind: 'ended', cluster: 'a', outcome: 'done', message: 'done' });
    first.close();
    appendFileSync(first.path, '{"kind":"ended","cluster":"b","outc');
    const again = await openFleetJournal(host, `${directory}/f`);
    expect([[...inProgress(again.before)], doneBefore(again.before)]).toEqual([['b'], ['a']]);
    again.write({ kind: 'ended', cluster: 'b', outcome: 'failed', message: 'x' });
    again.write({ kind: 'closed' });
    again.close();
    // A run that came to its end leaves nothing to go on with.
    const fresh = await openFleetJournal(host, `${directory}/f`);
    expect(fresh.before).toEqual([]);
    fresh.close();
    await close();
  });
  it('is another one for a file of the same name elsewhere', () => {
    expect(fleetDirectory('/s', '/a/fleet.yaml', 'shops')).not.toBe(
      fleetDirectory('/s', '/b/fleet.yaml', 'shops'),
    );
    expect(fleetDirectory('/s', '/a/fleet.yaml', '../x/y')).toMatch(/^\/s\/fleets\/\.\.-x-y-[0-9a-f]{8}$/);
  });
});

const clusters = ['/c/a.yaml', '/c/b.yaml', '/c/eu/cluster.yaml', '/c/us/cluster.yaml', '/c/d.yaml'];
const fleet = { name: 'shops', canary: '/c/b.yaml', atOnce: 2, clusters };
const options = { fleet, lastMember: ['--accept-point-of-no-return'], image: 'registry.example/opsctl:1' };

describe('what an engine is given', () => {
  it('the canary alone, then waves; every cluster has a name of its own', () => {
    expect(wavesOf(fleet)).toEqual([
      ['/c/b.yaml'],
      ['/c/a.yaml', '/c/eu/cluster.yaml'],
      ['/c/us/cluster.yaml', '/c/d.yaml'],
    ]);
    expect([...clusterLabels(clusters).values()]).toEqual(['a', 'b', 'eu-cluster', 'us-cluster', 'd']);
  });
  it('ansible: checks all, then the canary and waves in the order of the inventory, and stops at the first failure', () => {
    const [check, upgrade] = parse(fleetText('ansible', options));
    expect(check.tasks[0]['ansible.builtin.command'].argv).toContain('--dry-run');
    expect(upgrade).toMatchObject({ order: 'inventory', serial: [1, 2], any_errors_fatal: true });
    expect(upgrade.tasks[0]['ansible.builtin.command'].argv).toEqual([
      "{{ opsctl_program | default('opsctl') }}",
      'kv',
      'upgrade',
      '--accept-point-of-no-return',
      '-o',
      'json',
      '--cluster',
      '{{ opsctl_cluster_file }}',
      '--yes',
    ]);
    const { hosts } = parse(fleetText('ansible-inventory', options)).all.children.etcd_clusters;
    expect(Object.keys(hosts)).toEqual(['b', 'a', 'eu-cluster', 'us-cluster', 'd']);
    expect(hosts.b).toEqual({ opsctl_cluster_file: '/c/b.yaml', ansible_connection: 'local' });
  });
  it('Argo: only fields that a Workflow has (argo-workflows, api/jsonschema, August 2026)', () => {
    const object = parse(fleetText('argo', { ...options, image: 'registry.example/opsctl:1' }));
    const { spec } = object;
    const containers = spec.templates.flatMap(({ container = [] }) => container);
    const fields: readonly (readonly [readonly object[], readonly string[]])[] = [
      [[object], ['apiVersion', 'kind', 'metadata', 'spec']],
      [[object.metadata], ['generateName']],
      [[spec], ['entrypoint', 'templates', 'volumes']],
      [spec.templates, ['container', 'inputs', 'name', 'steps']],
      [spec.templates[0].steps.flat(), ['arguments', 'name', 'template']],
      [spec.volumes, ['configMap', 'name', 'persistentVolumeClaim']],
      [containers, ['args', 'env', 'image', 'volumeMounts']],
    ];
    for (const [objects, known] of fields)
      expect([...new Set(objects.flatMap(Object.keys))].toSorted()).toEqual(known);
    // The journals are written; nothing is written beside the cluster files.
    for (const { volumeMounts } of containers)
      expect(
        volumeMounts.map((mount: { name: string; readOnly?: boolean }) => [mount.name, mount.readOnly]),
      ).toEqual([
        ['clusters', true],
        ['work', undefined],
      ]);
    expect([object.apiVersion, object.kind]).toEqual(['argoproj.io/v1alpha1', 'Workflow']);
    // RFC 1123, as the names of steps, volumes and of the claim have to be.
    const names = [...spec.templates[0].steps.flat(), ...spec.volumes].map(({ name }) => name);
    for (const name of names) expect(name).toMatch(/^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/);
  });
  it('Argo: one group of steps after the other', () => {
    const { spec } = parse(fleetText('argo', options));
    const steps = spec.templates[0].steps.map((group: { name: string }[]) => group.map(({ name }) => name));
    expect(steps).toEqual([
      ['check-b', 'check-a', 'check-eu-cluster', 'check-us-cluster', 'check-d'],
      ['upgrade-b'],
      ['upgrade-a', 'upgrade-eu-cluster'],
      ['upgrade-us-cluster', 'upgrade-d'],
    ]);
    expect(spec.templates[2].container.args).toEqual(
      expect.arrayContaining(['upgrade', '--accept-point-of-no-return', '{{inputs.parameters.cluster}}']),
    );
  });
});
