import ora from 'ora';

/** A turning line on stderr. Only for terminals: ora colours by the environment, not by the stream it writes to. */
export const spinner = (text: string, isColored: boolean): { update(text: string): void; stop(): void } => {
  // Raw mode would swallow Ctrl-C while a request is waiting.
  const line = ora({
    text,
    stream: process.stderr,
    discardStdin: false,
    color: isColored ? 'cyan' : false,
  }).start();
  return {
    update(next) {
      line.text = next;
    },
    stop: () => void line.stop(),
  };
};
