import { int, list, oneOf, str } from '../../core/field.ts';
import { nothing } from '../../core/result.ts';
import { defineCommand } from '../../cli/command.ts';

/** The process of one simulated member. The generated binaries start it; its arguments are those of a real server. */
export const member = defineCommand({
  path: ['mock', 'kv', 'member'],
  noDryRun: 'opsctl mock kv start --help',
  summary: 'Run one simulated member',
  hidden: true,
  args: [
    {
      name: 'server-flags',
      effects: ['reads', 'runs'],
      field: list(str()),
      summary: 'Flags of the server, after --',
      optional: true,
      rest: true,
    },
  ],
  flags: {
    'binary-version': { effects: [], field: str(), summary: 'Version to speak', required: true },
    'field-words': { field: oneOf('kv', 'etcd'), summary: 'Word in fields and logs' },
    'monitor-ms': { field: int({ min: 50 }), summary: 'How often versions are compared' },
    faults: { effects: ['reads'], field: str(), summary: 'Directory with the faults of each member' },
  },
  async run({ host }, values) {
    const { runMember } = await import('../../etcd-sim/member/run.ts');
    const { faultFile } = await import('../../etcd-sim/faults.ts');
    const { faults } = values;
    const code = await runMember(host, {
      version: values['binary-version'],
      word: values['field-words'] ?? 'kv',
      monitorMs: values['monitor-ms'] ?? 5_000,
      serverArgs: values['server-flags'] ?? [],
      ...(faults === undefined ? {} : { faultFile: (name: string) => faultFile(faults, name) }),
    });
    // Connections of clients that are kept alive must not keep the process.
    host.exit(code);
    return nothing();
  },
});
