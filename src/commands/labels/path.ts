/** `labels labels create` is `labels create`; what goes by way of a revision is below `labels revisions`. */
export const pathOf = (path: readonly string[]): readonly string[] => {
  const [service = '', resource = '', verb = ''] = path;
  if (resource === 'labels') return [service, verb];
  const under = /^revision-(.+)$/.exec(resource)?.[1];
  return under === undefined ? [service, resource, verb] : [service, 'revisions', under, verb];
};
