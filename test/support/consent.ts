/** What an unattended run needs to go to its end; other commands take --yes alone. */
export const consent = (verb: string | undefined): string[] =>
  verb === 'upgrade' || verb === 'resume' ? ['--yes', '--accept-point-of-no-return'] : ['--yes'];
