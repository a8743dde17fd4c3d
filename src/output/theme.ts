type Paint = (text: string) => string;
export type Theme = {
  readonly bold: Paint;
  readonly dim: Paint;
  readonly red: Paint;
  readonly yellow: Paint;
  readonly green: Paint;
};
const plain: Paint = (text) => text;
const none: Theme = { bold: plain, dim: plain, red: plain, yellow: plain, green: plain };
/** chalk is loaded only if color is on. The level is passed, so that chalk does not guess it. */
export const themeFor = async (colored: boolean): Promise<Theme> => {
  if (!colored) return none;
  const { Chalk } = await import('chalk');
  const { bold, dim, red, yellow, green } = new Chalk({ level: 1 });
  return { bold, dim, red, yellow, green };
};

type Env = Readonly<Record<string, string | undefined>>;
/** Set and not switched off: `FORCE_COLOR=0` means no. */
const isOn = (value: string | undefined): boolean =>
  value !== undefined && value !== '' && value !== '0' && value !== 'false';
/**
 * spec/program#output: determines whether one stream has color: --color > NO_COLOR > FORCE_COLOR,
 * CLICOLOR_FORCE > CLICOLOR=0, TERM=dumb > is a terminal. Decided here because chalk ignores NO_COLOR and
 * checks the wrong stream. Pure.
 */
export const isColored = (
  mode: 'auto' | 'always' | 'never' | undefined,
  env: Env,
  isTty: boolean,
): boolean => {
  if (mode === 'always') return true;
  if (mode === 'never') return false;
  if (env.NO_COLOR) return false;
  if (isOn(env.FORCE_COLOR) || isOn(env.CLICOLOR_FORCE)) return true;
  if (env.FORCE_COLOR === '0' || env.FORCE_COLOR === 'false') return false;
  if (env.CLICOLOR === '0' || env.TERM === 'dumb') return false;
  return isTty;
};
