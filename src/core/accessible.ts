/** ACCESSIBLE asks for plain lines: what is drawn over and over cannot be used with a screen reader. */
export const isAccessible = (env: Readonly<Record<string, string | undefined>>): boolean =>
  !!env.ACCESSIBLE && env.ACCESSIBLE !== '0';
