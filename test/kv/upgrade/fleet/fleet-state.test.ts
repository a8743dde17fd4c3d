import { appendFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { limits } from '../../../../src/core/limits.ts';
import { parse, parseDocument, visit } from 'yaml';
import { clusterLabels, type EmitOptions } from '../../../../src/kv/upgrade/fleet/fleet-export.ts';
import { fleetText, wavesOf } from '../../../../src/kv/upgrade/fleet/fleet-export.ts';
import {
  completedClusters,
  fleetDirectory,
  inProgress,
  openFleetJournal,
} from '../../../../src/kv/upgrade/fleet/fleet-file.ts';
import { fakeHost } from '../../../support/fake-host.ts';
import { realHost } from '../../../support/real-host.ts';
import { covers } from '../../../support/covers.ts';
import { naming } from '../../../support/facts.ts';

describe('the journal of a fleet', () => {
  it('the journal of a fleet contains started and completed clusters; an incomplete last line is cut off', async () => {
    const { host, directory, close } = await realHost();
    const first = await openFleetJournal(host, `${directory}/f`);
    expect(first.before).toEqual([]);
    first.write({ kind: 'opened', fleet: 'f', clusters: ['a', 'b', 'c'] });
    for (const cluster of ['a', 'b']) first.write({ kind: 'began', cluster });
    first.write({ kind: 'ended', cluster: 'a', outcome: 'done', message: 'done' });
    first.close();
    appendFileSync(first.path, '{"kind":"ended","cluster":"b","outc');
    const again = await openFleetJournal(host, `${directory}/f`);
    expect([[...inProgress(again.before)], completedClusters(again.before)]).toEqual([['b'], ['a']]);
    again.write({ kind: 'ended', cluster: 'b', outcome: 'failed', message: 'x' });
    again.write({ kind: 'closed' });
    again.close();
    // A finished run leaves no state to resume.
    const fresh = await openFleetJournal(host, `${directory}/f`);
    expect(fresh.before).toEqual([]);
    fresh.close();
    await close();
  });
  it('the journal differs for an equally named file in another directory', () => {
    expect(fleetDirectory('/s', '/a/fleet.yaml', 'shops')).not.toBe(
      fleetDirectory('/s', '/b/fleet.yaml', 'shops'),
    );
    expect(fleetDirectory('/s', '/a/fleet.yaml', '../x/y')).toMatch(/^\/s\/fleets\/\.\.-x-y-[0-9a-f]{8}$/);
  });
});

const clusters = ['/c/a.yaml', '/c/b.yaml', '/c/eu/cluster.yaml', '/c/us/cluster.yaml', '/c/d.yaml'];
const fleet = { name: 'shops', canary: '/c/b.yaml', atOnce: 2, clusters };
const options = { fleet, lastMember: ['--accept-point-of-no-return'], image: 'registry.example/opsctl:1' };

describe('the file of that journal', () => {
  const opened = '{"kind":"opened","at":"","fleet":"f","clusters":["a"]}';
  const began = (cluster: string) => `{"kind":"began","at":"","cluster":"${cluster}"}`;
  const of = async (text: string) => {
    const host = fakeHost({ files: { '/f/journal.jsonl': text } });
    const journal = await openFleetJournal(host, '/f');
    return {
      host,
      journal,
      kinds: journal.before.map((one) => `${one.kind} ${'cluster' in one ? one.cluster : ''}`.trim()),
    };
  };
  it('the file is read from the last run on', async () => {
    expect((await of('')).kinds).toEqual([]);
    const closed = '{"kind":"closed","at":""}';
    expect((await of(`${opened}\n${began('a')}\n${closed}\n${opened}\n${began('b')}\n`)).kinds).toEqual([
      'opened',
      'began b',
    ]);
    expect((await of(`${opened}\n${began('a')}\n${closed}\n`)).kinds).toEqual([]);
  });
  it.each([
    ['no JSON', '\u0000'],
    ['no object', 'null'],
    ['another kind of field', '{"kind":"began","at":"","cluster":7}'],
    ['an end without its outcome', '{"kind":"ended","at":"","cluster":"a","message":""}'],
  ])('the file is damaged if a line is %s, because its cluster may be unfinished', async (_, line) => {
    const text = `${opened}\n${line}\n${began('b')}\n`;
    const host = fakeHost({ files: { '/f/journal.jsonl': text } });
    await expect(openFleetJournal(host, '/f')).rejects.toMatchObject({
      category: 'config',
      message: naming('2', '/f/journal.jsonl'),
      detail: {
        code: 'JOURNAL_DAMAGED',
        tryThis: [naming('another name', 'journal')],
      },
    });
    expect(await host.files.read('/f/journal.jsonl')).toBe(text);
  });
  it('the file loses only an incomplete last line', async () => {
    const { host, kinds } = await of(`${opened}\n${began('ä')}\n${began('b').slice(0, 9)}`);
    expect(await host.files.read('/f/journal.jsonl')).toBe(`${opened}\n${began('ä')}\n`);
    expect(kinds).toEqual(['opened', 'began ä']);
    const only = await of('{"kind"');
    expect(await only.host.files.read('/f/journal.jsonl')).toBe('');
  });
  it('the file is written line by line with times, and synced before the run continues', async () => {
    const host = fakeHost();
    const told: string[] = [];
    const append: typeof host.files.append = (path, mode) => {
      const file = host.files.append(path, mode);
      return {
        ...file,
        write: (data) => (told.push(`write ${path} ${(mode ?? 0).toString(8)}`), file.write(data)),
        sync: () => (told.push('sync'), file.sync()),
      };
    };
    const journal = await openFleetJournal({ ...host, files: { ...host.files, append } }, '/new/f');
    expect((await host.files.info('/new/f'))?.mode).toBe(0o700);
    journal.write({ kind: 'began', cluster: 'a' });
    expect(told).toEqual(['write /new/f/journal.jsonl 600', 'sync']);
    expect(await host.files.read('/new/f/journal.jsonl')).toBe(
      '{"at":"2026-01-02T03:04:05.000Z","kind":"began","cluster":"a"}\n',
    );
  });
  it('a file of more than 16 MiB is ignored', covers('limit/fleetJournalBytes'), async () => {
    const sized = (sizeBytes: number | undefined) => {
      const host = fakeHost();
      const info = async () => (sizeBytes === undefined ? undefined : ({ sizeBytes } as never));
      return openFleetJournal({ ...host, files: { ...host.files, info } }, '/f');
    };
    await expect(sized(limits.fleetJournalBytes + 1)).rejects.toMatchObject({
      detail: { code: 'JOURNAL_DAMAGED' },
    });
    expect((await sized(limits.fleetJournalBytes)).before).toEqual([]);
    expect((await sized(undefined)).before).toEqual([]);
  });
  it('an ended cluster is done only if its entry states it', () => {
    const ended = (cluster: string, outcome: 'done' | 'failed') =>
      ({ kind: 'ended', at: '', cluster, outcome, message: '' }) as const;
    expect(
      completedClusters([ended('a', 'done'), ended('b', 'failed'), { kind: 'began', at: '', cluster: 'c' }]),
    ).toEqual(['a']);
  });
});

describe('input of an engine', () => {
  it('the canary runs first, then waves; every cluster has a unique name', () => {
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
    // Only the journals are writable. The directory of the cluster files is read-only.
    for (const { volumeMounts } of containers)
      expect(
        volumeMounts.map((mount: { name: string; readOnly?: boolean }) => [mount.name, mount.readOnly]),
      ).toEqual([
        ['clusters', true],
        ['work', undefined],
      ]);
    // A template is submitted for one cluster, by the path that the head of the file lists.
    const resume = spec.templates.find(({ name }: { name: string }) => name === 'resume');
    expect(resume.container.args).toEqual(expect.arrayContaining(['resume', '--cluster']));
    expect(resume.inputs.parameters).toEqual([{ name: 'cluster' }]);
    const head = fleetText('argo', options)
      .split('\n')
      .filter((line) => line.startsWith('#'));
    for (const { arguments: given } of spec.templates[0].steps.flat())
      expect(head.join('\n')).toContain(given.parameters[0].value);
    expect([object.apiVersion, object.kind]).toEqual(['argoproj.io/v1alpha1', 'Workflow']);
    // RFC 1123 applies to the names of steps, volumes and the claim.
    const names = [...spec.templates[0].steps.flat(), ...spec.volumes].map(({ name }) => name);
    for (const name of names) expect(name).toMatch(/^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/);
  });
  /** The files that a container of the workflow finds, by their path, each with its source. */
  const filesInContainer = (text: string): Record<string, string> => {
    const { spec } = parse(text);
    const secret = Object.fromEntries(
      [...text.matchAll(/--from-file=(\S+?)=(\S+)/g)].map(([, key = '', path = '']) => [key, path]),
    );
    const projected = spec.volumes
      .flatMap(({ projected: { sources = [] } = {} }: any) => sources)
      .flatMap((source: any) => (source.secret ?? source.configMap).items)
      .map(({ key, path }: any) => [`/etc/opsctl/${path}`, secret[key]]);
    const mounted = spec.templates[1].container.volumeMounts
      .filter(({ subPath }: any) => subPath !== undefined)
      .map(({ subPath, mountPath }: any) => [mountPath, secret[subPath]]);
    return Object.fromEntries([...projected, ...mounted]);
  };
  it('Argo: each container finds the certificates at the paths that its cluster file names', () => {
    const fleet = { name: 'f', canary: '/c/a.yaml', atOnce: 1, clusters: ['/c/a.yaml', '/d/b.yaml'] };
    const accessFiles = new Map([
      ['/c/a.yaml', [{ name: 'ca_file', path: '/c/pki/ca.pem', written: 'pki/ca.pem' }]],
      [
        '/d/b.yaml',
        [
          { name: 'ca_file', path: '/d/pki/ca.pem', written: 'pki/ca.pem' },
          { name: 'key_file', path: '/etc/etcd/key.pem', written: '/etc/etcd/key.pem' },
          { name: 'password_file', path: '/etc/etcd/key.pem', written: '/etc/etcd/key.pem' },
        ],
      ],
    ]);
    const text = fleetText('argo', { ...options, fleet, image: 'i', accessFiles });
    const { spec } = parse(text);
    const clusters = spec.templates[0].steps.flat().map((step: any) => step.arguments.parameters[0].value);
    expect([...new Set(clusters)]).toEqual(['/etc/opsctl/a/cluster.yaml', '/etc/opsctl/b/cluster.yaml']);
    expect(filesInContainer(text)).toEqual({
      '/etc/opsctl/a/cluster.yaml': '/c/a.yaml',
      '/etc/opsctl/b/cluster.yaml': '/d/b.yaml',
      '/etc/opsctl/a/pki/ca.pem': '/c/pki/ca.pem',
      '/etc/opsctl/b/pki/ca.pem': '/d/pki/ca.pem',
      '/etc/etcd/key.pem': '/etc/etcd/key.pem',
    });
    // Keys are readable by the group of the containers only.
    expect([spec.securityContext.fsGroup, spec.volumes[1].secret.defaultMode]).toEqual([65532, 0o440]);
    const parent = (path: string) => [{ name: 'ca_file', path, written: '../ca.pem' }];
    const conflict = new Map([
      ['/c/a.yaml', parent('/ca.pem')],
      ['/d/b.yaml', parent('/other/ca.pem')],
    ]);
    expect(() => fleetText('argo', { ...options, fleet, image: 'i', accessFiles: conflict })).toThrow(
      '/etc/opsctl/ca.pem',
    );
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

describe('names and waves', () => {
  it('a cluster is named by the part of its path that is unique', () => {
    const labels = (...paths: string[]) => [...clusterLabels(paths).values()];
    expect(labels('/a.yaml')).toEqual(['a']);
    expect(labels('/x/a b.yaml', '/y/a b.yaml')).toEqual(['x-a-b', 'y-a-b']);
    expect(labels('/1/x/a.yaml', '/2/x/a.yaml')).toEqual(['1-x-a', '2-x-a']);
    // Clusters with similar names remain distinct in an inventory and among lower-case step names.
    expect(labels('/x/a.yaml', '/x/a.yml', '/x/a.json')).toEqual(['x-a', 'x-a-2', 'x-a-3']);
    expect(labels('/x/A.yaml', '/x/a.b.yaml', '/x/a.yaml', '/x/a-b.yaml')).toEqual([
      'A',
      'a.b',
      'a-2',
      'a-b-2',
    ]);
    expect(labels('/a.b/c.yaml')).toEqual(['c']);
  });
  it('the last wave may be smaller', () => {
    const of = (atOnce: number) =>
      wavesOf({ name: 'f', canary: 'b', atOnce, clusters: ['a', 'b', 'c', 'd'] });
    expect(of(1)).toEqual([['b'], ['a'], ['c'], ['d']]);
    expect(of(2)).toEqual([['b'], ['a', 'c'], ['d']]);
    expect(of(3)).toEqual([['b'], ['a', 'c', 'd']]);
  });
  it('flags of the plans are in the check and in the upgrade of each engine, and not in a resumed run', () => {
    const planFlags = ['--copy-data', '--accept', 'snapshot-space'];
    const given = { ...options, planFlags };
    const [check, upgrade] = parse(fleetText('ansible', given));
    const words = [check.tasks[0], ...upgrade.tasks].map((task) => task['ansible.builtin.command'].argv);
    const templates = parse(fleetText('argo', given)).spec.templates.slice(1, 3);
    for (const line of [words[0], words[1], ...templates.map(({ container }: any) => container.args)])
      expect(line).toEqual(expect.arrayContaining(planFlags));
    expect(words[2]).toContain('resume');
    expect(words[2]).not.toContain('--copy-data');
  });
  it('ansible stops at the first failure, makes no changes before, and passes a held cluster on request', () => {
    const playbook = (lastMember: string[]) => parse(fleetText('ansible', { fleet, lastMember }));
    const [check, upgrade] = playbook(['--accept-point-of-no-return']);
    expect(check).toMatchObject({ gather_facts: false, any_errors_fatal: true });
    expect(check.tasks[0].changed_when).toBe(false);
    expect(upgrade).toMatchObject({ any_errors_fatal: true, max_fail_percentage: 0, gather_facts: false });
    const [run, resume] = upgrade.tasks;
    expect(run).toMatchObject({ async: 86_400, failed_when: expect.not.stringContaining('"held"') });
    expect(resume).toMatchObject({ changed_when: true, failed_when: expect.not.stringContaining('"held"') });
    for (const text of ['UNFINISHED_RUN', '"held_by":"hold-last"']) {
      expect([resume.when, run.failed_when].map((condition) => condition.includes(text))).toEqual([
        true,
        true,
      ]);
      // Another hold and an unfinished run are failures of the resume.
      expect(resume.failed_when).not.toContain(text);
    }
    expect(resume.when).not.toContain('HELD_RUN');
    const [, resumeAgain] = playbook(['--hold-last'])[1].tasks;
    expect(resumeAgain.failed_when).toContain('"HELD"');
    expect(playbook(['--hold-last'])[1].tasks[0].failed_when).toContain('"held"');
    // Ansible reports a job that it lost without an exit code: the conditions must not fail for another reason.
    for (const { failed_when: failed, register } of [
      check.tasks[0],
      run,
      playbook(['--hold-last'])[1].tasks[0],
    ])
      expect(failed).toContain(`${register}.rc is not defined or`);
  });
  it.each(["{{ lookup('pipe', 'touch ran') }}", '{% set x = 1 %}', '{# x #}'])(
    'ansible does not evaluate the template %j in a name or a path',
    (text) => {
      const path = `/c/${text}.yaml`;
      const given = {
        fleet: { ...fleet, name: text, canary: path, clusters: [path] },
        lastMember: ['--accept', text],
      };
      const values: string[] = [];
      for (const engine of ['ansible', 'ansible-inventory'] as const)
        visit(parseDocument(fleetText(engine, given)), {
          Scalar: (_, { value, tag }) => {
            if (typeof value !== 'string' || !value.includes(text)) return;
            values.push(value);
            expect(tag).toBe('!unsafe');
          },
        });
      expect(values).toEqual(expect.arrayContaining([path, text]));
    },
  );
  const templates = ['{{workflow.uid}}', "{{=sprig.env('SECRET')}}", '{{', 'a{{ b'];
  it.each(templates)('Argo: %j in any value is refused or does not reach the workflow', (text) => {
    const image = 'registry.example/opsctl:1';
    const named = (name: string, written: string) => {
      const accessFiles = new Map([['/c/b.yaml', [{ name, path: `/c/${written}`, written }]]]);
      return { ...options, image, accessFiles };
    };
    const path = `/c/${text}.yaml`;
    const oneCluster = { ...fleet, canary: path, clusters: [path] };
    const given: Record<string, EmitOptions> = {
      '--image': { ...options, image: text },
      '--accept': { ...options, image, planFlags: ['--accept', text] },
      'ca_file in /c/b.yaml': named('ca_file', `/pki/${text}.pem`),
      'key_file in /c/b.yaml': named('key_file', `pki/${text}.pem`),
      '': { ...options, image, fleet: { ...oneCluster, name: text } },
    };
    for (const [origin, emitted] of Object.entries(given)) {
      const build = () => fleetText('argo', emitted);
      if (origin === '')
        expect(
          build()
            .replaceAll('{{inputs.parameters.cluster}}', '')
            .split('\n')
            .filter((line) => !line.startsWith('#'))
            .join(''),
        ).not.toContain('{{');
      else
        expect(build).toThrow(
          expect.objectContaining({
            detail: expect.objectContaining({ code: 'TEMPLATE_IN_VALUE' }),
            message: expect.stringContaining(` of ${origin}: `),
          }),
        );
    }
  });
  it.each(['$HOME', '${HOME}', 'a$b'])(
    'ansible: %j, which its command module replaces, is refused',
    (text) => {
      const path = `/c/${text}.yaml`;
      const refused = expect.objectContaining({
        detail: expect.objectContaining({ code: 'TEMPLATE_IN_VALUE' }),
      });
      const one = { ...fleet, canary: path, clusters: [path] };
      expect(() => fleetText('ansible-inventory', { ...options, fleet: one })).toThrow(refused);
      expect(() => fleetText('ansible', { ...options, planFlags: ['--accept', text] })).toThrow(refused);
    },
  );
  it('Argo: a path is a word of the command in the comment, and arguments contain no variable', () => {
    const path = "/c/$(id) 'x'.yaml";
    const given = {
      fleet: { ...fleet, canary: path, clusters: [path] },
      lastMember: ['--accept', '$(SECRET)'],
    };
    const text = fleetText('argo', given);
    expect(text.split('\n')[0]).toContain(`'--from-file=id-x.yaml=/c/$(id) '\\''x'\\''.yaml'`);
    expect(parse(text).spec.templates[2].container.args).toContain('$$(SECRET)');
    const broken = { ...given, fleet: { ...fleet, canary: '/c/a\nb: 1', clusters: ['/c/a\nb: 1'] } };
    expect(() => fleetText('argo', broken)).toThrow('line breaks');
  });
});
