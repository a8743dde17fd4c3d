import { existsSync } from 'node:fs';
import { type Browser, chromium } from 'playwright-core';
import { hangMs } from './hang.ts';

const places = [
  process.env.OPSCTL_CHROMIUM,
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
];
export const chromiumPath = places.find((path) => path !== undefined && existsSync(path));
/** Returns whether to skip the browser tests, and prints the reason. On CI, a missing browser is a failure. */
export const noChromium = (): boolean => {
  if (chromiumPath !== undefined) return false;
  if (process.env['OPSCTL_TEST_IN_CI'] === 'true')
    throw new Error('no chromium: install the Debian package or set OPSCTL_CHROMIUM');
  process.stderr.write(
    'left out: browser tests: no chromium (Debian package chromium, or OPSCTL_CHROMIUM)\n',
  );
  return true;
};
export const launchChromium = async (): Promise<Browser> => {
  const browser = await chromium.launch({
    executablePath: chromiumPath,
    args: [
      ...['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run'],
      ...['--disable-background-networking', '--disable-component-update', '--disable-sync'],
    ],
  });
  const { newContext } = browser;
  return Object.assign(browser, {
    newContext: async (...given: Parameters<typeof newContext>) => {
      const context = await newContext.apply(browser, given);
      context.setDefaultTimeout(hangMs);
      return context;
    },
  });
};
