/** Returns the flags that an unattended run needs to complete. Other commands need only --yes. */
export const consent = (verb: string | undefined): string[] =>
  verb === 'upgrade' || verb === 'resume' ? ['--yes', '--accept-point-of-no-return'] : ['--yes'];
