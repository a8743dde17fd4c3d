import type { Host } from '../../../platform/host.ts';

const ESCAPE = String.fromCharCode(27);

/** The other screen of a terminal: what was there before is there again afterwards. */
export const fullScreen = ({ terminal: { stdout } }: Host) => {
  let before = '';
  const write = (text: string): Promise<void> => stdout.write(text).catch(() => {});
  return {
    open: () => {
      before = '';
      return write(`${ESCAPE}[?1049h${ESCAPE}[?25l`);
    },
    close: () => write(`${ESCAPE}[?25h${ESCAPE}[?1049l`),
    /** From the top with every line cleared: a resize leaves nothing behind, and what did not change is not sent again. */
    draw: (lines: readonly string[], columns: number, rows: number): Promise<void> => {
      const frame = `${lines.map((line) => `${line}${ESCAPE}[K`).join('\r\n')}${ESCAPE}[J`;
      const key = `${columns} ${rows} ${frame}`;
      if (key === before) return Promise.resolve();
      before = key;
      return write(`${ESCAPE}[H${frame}`);
    },
  };
};
