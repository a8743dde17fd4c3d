import { str } from '../../core/field.ts';
import { recordResult } from '../../core/result.ts';
import { labelRoles } from '../../api-specs/labels/words.ts';
import { defineCommand } from '../../cli/command.ts';

export const labelsToken = defineCommand({
  path: ['mock', 'labels', 'token'],
  summary: 'An access token of the label service with a role',
  about: [
    'Makes a user with this role on the labels that there are, or on one of them, and prints an access token of that user.',
    'Roles are checked by a server that was started with --labels-auth oauth; otherwise any token does everything.',
  ].join('\n'),
  args: [
    {
      name: 'role',
      field: { ...str(), enum: ['none', ...labelRoles.map((role) => role.toLowerCase()), 'admin'] },
      summary: 'none, reader, applier, organizer, editor or admin',
    },
  ],
  flags: {
    label: {
      field: str(),
      summary: 'Only on this label: title, id or labels/<id> (default: all)',
      value: 'label',
    },
  },
  examples: [
    { line: 'opsctl mock labels token editor --label Contract', says: 'A token that may edit one label' },
    {
      line: 'eval "$(opsctl mock env)" && OPSCTL_LABELS_TOKEN=$(opsctl mock labels token admin -o name) ./script.sh',
      says: 'For a script: the addresses of the server, and a token of this role',
    },
  ],
  noDryRun: 'opsctl mock status shows the server',
  run: async (context, values) => {
    const { steer } = await import('./remote.ts');
    const { role, label } = values;
    const given = await steer(context, (ask) =>
      ask('POST', 'labels/token', { role, ...(label === undefined ? {} : { label }) }),
    );
    if (given.checked !== true)
      context.log.warn(
        'this server takes any token: start it with --labels-auth oauth to have roles checked',
      );
    const text = given.access_token;
    return recordResult(given, { text, name: 'access_token' });
  },
});
