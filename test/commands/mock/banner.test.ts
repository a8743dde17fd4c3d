import { expect, test } from 'vitest';
import { covers } from '../../support/covers.ts';
import { banner } from '../../../src/commands/mock/serve.ts';

test(
  'the start banner names the documents of the tracker and of the labels',
  covers('spec/program#choices-2'),
  () => {
    const url = 'http://127.0.0.1:1234';
    const place = { base_url: url, token: 't' };
    const text = banner(
      {
        url,
        pid: 1,
        tracker: place,
        labels: place,
        media: place,
        auth: { authorization_endpoint: `${url}/auth`, client_id: 'c' },
      } as unknown as Parameters<typeof banner>[0],
      undefined,
    );
    expect(text).toContain(`tracker: ${url}/openapi.json`);
    expect(text).toContain('plain HTTP: for this machine only');
    expect(text).toContain(`labels:  ${url}/openapi/labels.json  /discovery/labels/v2beta`);
  },
);
