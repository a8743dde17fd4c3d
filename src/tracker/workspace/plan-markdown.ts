import type { Plan } from './plan.ts';

const cell = (value: unknown): string => {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
  const line = text.replaceAll('|', '\\|').replace(/\s+/g, ' ').trim();
  return line.length > 60 ? `${line.slice(0, 57)}...` : line;
};

/** The plan as a comment on a pull request. */
export const planMarkdown = (plan: Plan): string => {
  const count = `**${plan.actions.length} to change**, ${plan.kept} are as the file says`;
  const refused = plan.refused.map(({ path, message }) => `- refused: ${cell(path)} ${cell(message)}`);
  if (plan.actions.length === 0) return `${[count, ...refused].join('\n')}\n`;
  const rows = plan.actions.map(({ action, kind, name, changes }) => {
    const fields = Object.entries(changes).map(([field, { from, to }]) =>
      action === 'update' ? `${field}: ${cell(from)} → ${cell(to)}` : field,
    );
    return `| ${action} | ${kind} | ${cell(name)} | ${fields.join('<br>')} |`;
  });
  return `${[count, '', '| action | list | name | fields |', '|---|---|---|---|', ...rows, ...refused].join('\n')}\n`;
};
