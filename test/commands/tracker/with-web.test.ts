import { expect, test } from 'vitest';
import { openPage } from '../../../src/commands/tracker/extensions.ts';
import { AppError, type Category } from '../../../src/core/problem.ts';
import { contextWith } from '../../support/context.ts';
import { fakeHost } from '../../support/fake-host.ts';
import { trackerInMemory } from '../../support/in-memory.ts';

/** Runs `labels get --web` with a service that returns this value as the page of the label. */
const opened = async (app_url: unknown) => {
  const at = trackerInMemory();
  const label = at.send('POST', '/labels', { name: 'bug' });
  const urls: string[] = [];
  const ran = await at.run(['labels', 'get', String(label.id), '--web', '-o', 'json'], {
    meanwhile: ({ method, path }) =>
      method === 'GET' && path.startsWith('/labels/')
        ? { status: 200, json: { ...label, ...(app_url === undefined ? {} : { app_url }) } }
        : undefined,
    change: (host) => ({
      ...host,
      hostname: host.hostname,
      openBrowser: async (url) => {
        urls.push(url);
        return true;
      },
    }),
  });
  return { ran, urls };
};

test('--web opens the page of the record', async () => {
  const { ran, urls } = await opened('https://tracker.example/label/1');
  expect([ran.code, urls]).toEqual([0, ['https://tracker.example/label/1']]);
});

test.each([
  '--renderer-cmd-prefix=touch -- ran',
  'file:///etc/hostname',
  'javascript:1',
  'https://a@b.example/',
  'x\n-y',
])('--web starts no browser for %j and prints the record', async (app_url) => {
  const { ran, urls } = await opened(app_url);
  expect([ran.code, ran.json().app_url, urls]).toEqual([0, app_url, []]);
  expect(ran.err).toContain('app_url must be an http or https URL');
});

/** Shows a page of the embedded server and ends the question with this error. */
const show = (category: Category) => {
  const host = fakeHost({
    answers: [new AppError(category, 'canceled at the prompt', { code: 'CANCELLED' })],
  });
  const context = contextWith({
    ...{ host, isInteractive: true, log: { info: () => undefined, warn: () => undefined } },
    target: async () => ({ isPassing: true }),
  });
  return openPage(context, 'http://127.0.0.1:1/app/label/1');
};
test('Ctrl-C after the page of the embedded server ends the command without an error', async () => {
  await expect(show('interrupted')).resolves.toBeUndefined();
  await expect(show('terminated')).rejects.toMatchObject({ category: 'terminated' });
});
