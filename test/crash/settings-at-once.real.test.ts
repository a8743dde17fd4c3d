import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { type Program, program } from '../support/built-program.ts';

let home: Program;
beforeAll(() => {
  home = program();
});

const settings: Readonly<Record<string, string>> = {
  'tracker.url': 'https://tracker.example.com',
  'tracker.token': 'a-token-of-the-tracker',
  'tracker.base_path': '/api/v4',
  'labels.url': 'https://labels.example.com',
  'auth.url': 'https://auth.example.com',
  'auth.client_id': 'client-7',
  'auth.audience': 'everybody',
  'api.url': 'https://api.example.com',
  timeout: '7s',
  rate_per_minute: '70',
};

test('ten commands that each change another setting at the same time lose none', async () => {
  expect(Object.keys(settings)).toHaveLength(10);
  const ended = await Promise.all(
    Object.entries(settings).map(([key, value]) =>
      home.run(['config', 'set', key, '--stdin', '--profile', 'work'], { input: value }),
    ),
  );
  expect(ended.map(({ code, stderr }) => ({ code, stderr }))).toEqual(
    Object.keys(settings).map((key) => ({ code: 0, stderr: `${key} is set in profile work\n` })),
  );
  const directory = join(home.home, 'config');
  expect(readdirSync(directory)).toEqual(['config.json']);
  const { profiles } = JSON.parse(readFileSync(join(directory, 'config.json'), 'utf8'));
  expect(profiles).toEqual({ work: settings });
});
