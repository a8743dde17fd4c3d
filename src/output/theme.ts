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

/** chalk is loaded only where colour is on, with the level given instead of guessed. */
export const themeFor = async (colored: boolean): Promise<Theme> => {
  if (!colored) return none;
  const { Chalk } = await import('chalk');
  const { bold, dim, red, yellow, green } = new Chalk({ level: 1 });
  return { bold, dim, red, yellow, green };
};
