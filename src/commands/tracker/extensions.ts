import { externalUrl } from '../../core/external-url.ts';
import { bool, bare } from '../../core/field.ts';
import type { Command, Flag } from '../../cli/command.ts';
import { extend } from './extend.ts';

const hasAppUrl = (command: Command): boolean => {
  const returns = command.operation?.operation.returns;
  const record = returns && bare(returns);
  return record?.type === 'object' && record.fields.app_url !== undefined;
};

const webFlag = {
  effects: ['runs'],
  field: bool(),
  summary: 'Open its page in the browser',
} as const satisfies Flag;

/** `--web` on every command that answers with one record that has a page of its own. */
export const withWeb = (command: Command): Command => {
  if (!hasAppUrl(command)) return command;
  return extend(command, {
    get flags() {
      return { ...command.flags, web: webFlag };
    },
    run: async (context, values) => {
      const result = await command.run(context, values);
      const given = result.kind === 'record' ? (result.data as { app_url?: unknown }).app_url : undefined;
      if (values.web !== true || typeof given !== 'string') return result;
      const url = externalUrl(given);
      if (url === undefined) {
        context.log.warn(
          `no browser was started: app_url must be an http or https URL, the service returned ${JSON.stringify(given)}`,
        );
        return result;
      }
      context.log.info(url);
      if (!(await context.host.openBrowser(url)))
        context.log.warn('no browser could be started; open the address above by hand');
      return result;
    },
  });
};
