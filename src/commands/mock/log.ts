import { lossyText } from '../../core/utf8.ts';
import { int } from '../../core/field.ts';
import { rawResult } from '../../core/result.ts';
import { defineCommand } from '../../cli/command.ts';
import { chosen, dirFlag, memberFlag, rehearsalIn } from './directory.ts';

export const log = defineCommand({
  path: ['mock', 'kv', 'log'],
  summary: 'Show what simulated members logged',
  flags: {
    dir: dirFlag,
    member: memberFlag,
    lines: { field: int({ min: 1 }), summary: 'How many lines from the end (default 100)', value: 'n' },
  },
  async run(context, values) {
    const rehearsal = await rehearsalIn(context, values);
    const members = chosen(rehearsal, values.member);
    const last = values.lines ?? 100;
    const texts = await Promise.all(
      members.map(async (member) => {
        const lines = lossyText(await context.host.files.readBytes(member.logFile))
          .split('\n')
          .filter((line) => line !== '');
        const prefix = members.length > 1 ? `${member.name}  ` : '';
        return lines.slice(-last).map((line) => `${prefix}${line}\n`);
      }),
    );
    return rawResult(...texts.flat());
  },
});
