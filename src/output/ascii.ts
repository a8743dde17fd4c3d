/** Signs of the program's own drawings, each as wide as what takes its place, so that columns stay. */
const plain: Readonly<Record<string, string>> = {
  '✓': '+',
  '✔': '+',
  '✗': 'x',
  '✘': 'x',
  '→': '>',
  '←': '<',
  '↑': '^',
  '↓': 'v',
  '─': '-',
  '━': '-',
  '│': '|',
  '┃': '|',
  '├': '+',
  '└': '+',
  '┌': '+',
  '┐': '+',
  '┘': '+',
  '┤': '+',
  '●': '*',
  '○': 'o',
  '◌': 'o',
  '•': '*',
  '·': '.',
  '…': '.',
  '–': '-',
  '—': '-',
  '×': 'x',
  '⚠': '!',
  '▶': '>',
  '█': '#',
  '░': '.',
  '≤': '<',
  '≥': '>',
};
const SIGNS = new RegExp(`[${Object.keys(plain).join('')}]`, 'gu');
type Env = Readonly<Record<string, string | undefined>>;

/** POSIX: LC_ALL beats LC_CTYPE beats LANG. A locale that is set and is not UTF-8 can show ASCII only; none set says nothing. */
export const isAsciiOnly = ({ LC_ALL, LC_CTYPE, LANG }: Env): boolean => {
  const locale = LC_ALL || LC_CTYPE || LANG || '';
  return locale !== '' && !/utf-?8/i.test(locale);
};

/** The program's signs as ASCII; data of other scripts stays what it is. */
export const asciiSigns = (text: string): string => text.replace(SIGNS, (sign) => plain[sign] ?? sign);

/** What messages go through: nothing where the terminal shows every sign. */
export const signsFor = (env: Env): ((text: string) => string) =>
  isAsciiOnly(env) ? asciiSigns : (text) => text;
