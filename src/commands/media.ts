import { bool, list, req, str } from '../core/field.ts';
import { defineCommand, type Argument, type Command, type Flags } from '../cli/command.ts';
import { accountFlag } from './auth/account-flag.ts';

const flags = {
  param: { effects: [], field: list(str()), repeat: true, value: 'name=value', summary: 'A query parameter' },
  account: accountFlag,
  'token-stdin': {
    effects: ['reads', 'sends'],
    field: bool(),
    summary: 'Use the access token from standard input',
  },
} as const satisfies Flags;
const args = [
  { name: 'path', effects: [], field: req(str()), summary: 'Path, for example /media/v3/channels' },
] as const satisfies readonly Argument[];

const get = defineCommand({
  path: ['media', 'get'],
  summary: 'Read from the data API with the access token in the header',
  about:
    'The token is refreshed when it has expired, and once more when the service refuses it. A missing scope is named together with the line that asks for it.',
  args,
  flags,
  examples: [
    {
      line: 'opsctl media get /media/v3/channels --param part=id --param mine=true',
      says: 'Channels of the signed-in user',
    },
  ],
  run: async (context, values) => (await import('../auth/get.ts')).runMedia(context, values),
});

export const commands: readonly Command[] = [get];
