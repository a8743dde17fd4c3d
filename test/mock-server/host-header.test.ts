import { expect, test } from 'vitest';
import { isOwnHost, createHostMatcher } from '../../src/mock-server/server.ts';

test.each([
  undefined,
  '127.0.0.1:8080',
  '127.0.0.1',
  '[::1]:8080',
  '10.0.0.7:80',
  'localhost:8080',
  'LOCALHOST',
  'localhost.:8080',
  'tracker.localhost:8080',
  'host.docker.internal:8080',
  'mock.test',
  'api.example.com',
  'build-7.company.example',
  'build-7.company.example:8080',
])('%s is a name of this machine or of a container next to it', (host) => {
  expect(isOwnHost(host, 'build-7.company.example')).toBe(true);
});

test.each([
  'evil.example',
  'evil.local:8080',
  'mock.default.svc.cluster.local',
  'evil',
  'mock_server-1:8080',
  'evil.example:8080',
  'localhost.evil.example',
  '127.0.0.1.evil.example:8080',
  'evil.example:127.0.0.1',
  'internal.evil.example',
  'nottest.example',
  'notexample.com',
  'example.com.evil.example',
  '',
  ':8080',
  'a b',
  '[::1].evil.example',
  '127.0.0.1@evil.example',
  'evil.example?.localhost',
  'evil.example#.test',
  'evil.example/.localhost:8080',
  'evil.example\\.localhost',
  'evil.example%2f.localhost',
])('%s could be led here by its owner', (host) => {
  expect(isOwnHost(host, 'build-7')).toBe(false);
});

test('names that are given, the machine itself, and any', () => {
  expect(isOwnHost('laptop', 'laptop')).toBe(true);
  expect(isOwnHost('mock:80', 'x', ['mock'])).toBe(true);
  expect(isOwnHost('api.company.example:80', 'x', ['api.company.example'])).toBe(true);
  expect(isOwnHost('other.company.example', 'x', ['api.company.example'])).toBe(false);
  expect(isOwnHost('other.company.example', 'x', ['*'])).toBe(true);
});

test('one matcher checks every name separately, and forgets names that occur once', () => {
  const isOwn = createHostMatcher('laptop', ['mock']);
  for (let round = 0; round < 2; round++) {
    expect([isOwn('evil.example'), isOwn('evil.example')]).toEqual([false, false]);
    expect(isOwn('laptop')).toBe(true);
    expect(isOwn('mock:80')).toBe(true);
    expect(isOwn(undefined)).toBe(true);
    for (let i = 0; i < 150; i++) expect(isOwn(`evil-${i}.example`)).toBe(false);
  }
});
