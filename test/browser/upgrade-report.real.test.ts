import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { pageFrom } from '../../src/kv/upgrade/present/page.ts';
import { wholeRun } from '../../src/kv/upgrade/present/run-model.ts';
import { launchChromium, noChromium } from '../support/chromium.ts';
import { failedReport, failedRun, goodRun, report } from '../kv/upgrade/events.ts';
import { makeDirectory } from '../support/directory.ts';

/** Keys whose values select what the page shows. */
const fixedKeys = new Set(['kind', 'id', 'type', 'at', 'level', 'outcome', 'status', 'role', 'from', 'to']);

describe.skipIf(noChromium())('the report in a browser', () => {
  let browser: Browser;
  let directory: string;
  beforeAll(async () => {
    browser = await launchChromium();
    directory = makeDirectory();
    writeFileSync(join(directory, 'good.html'), pageFrom(report, wholeRun(goodRun)));
    writeFileSync(join(directory, 'failed.html'), pageFrom(failedReport, wholeRun(failedRun)));
  });
  afterAll(async () => {
    await browser.close();
  });
  const open = async (name: string, width: number, colorScheme: 'light' | 'dark' = 'light') => {
    const page = await browser.newPage({ viewport: { width, height: 900 }, colorScheme });
    const asked: string[] = [];
    page.on('request', (request) => asked.push(request.url()));
    await page.goto(`file://${directory}/${name}.html`);
    return { page, asked };
  };

  it.each([360, 768, 1280])('the page never scrolls sideways at %i pixels', async (width) => {
    const { page } = await open('good', width);
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(width);
    await page.close();
  });
  it('the page loads no other resources', async () => {
    const { page, asked } = await open('good', 1280);
    expect(asked).toEqual([`file://${directory}/good.html`]);
    await page.close();
  });
  it.each(['light', 'dark'] as const)('text on %s has enough contrast', async (scheme) => {
    const { page } = await open('good', 1280, scheme);
    // Relative luminance of text and background (WCAG): 4.5 is sufficient for small text.
    const worst = await page.evaluate(`(() => {
      const part = (n) => (n /= 255) <= 0.03928 ? n / 12.92 : ((n + 0.055) / 1.055) ** 2.4;
      const light = (color) => { const [r, g, b] = color.match(/[\\d.]+/g).map(Number); return 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b); };
      const ground = (element) => { for (let at = element; at; at = at.parentElement) { const color = getComputedStyle(at).backgroundColor; if (!/, 0\\)$/.test(color)) return color; } return 'rgb(255, 255, 255)'; };
      const found = [...document.querySelectorAll('h1, h2, p, td, th, .badge, .card b, .card span, dt, dd, summary')].map((element) => {
        const [a, b] = [light(getComputedStyle(element).color), light(ground(element))].sort((x, y) => y - x);
        return (a + 0.05) / (b + 0.05);
      });
      return Math.min(...found);
    })()`);
    expect(worst).toBeGreaterThan(4.5);
    await page.close();
  });
  it.each([
    [
      ...['<script>ran = 1</script>', '"><img src=x onerror="ran = 1">', "' onmouseover='ran = 1"],
      ...[
        '</title><script>ran = 1</script>',
        '</style><script>ran = 1</script>',
        ']]><script>ran = 1</script>',
      ],
      ...['<svg onload=ran=1>', '</svg><img src=x onerror=ran=1>', '<a href="javascript:ran=1">x</a>'],
    ],
    [
      ...[
        '--><script>ran = 1</script>',
        '&lt;img src=x onerror=ran=1&gt;',
        '{{ran=1}}',
        '\u2028<br>',
        '\0<b>',
        '\u202e<b>',
      ],
      ...[
        '<meta http-equiv=refresh content="0;url=https://other.example">',
        '<base href=https://other.example>',
      ],
      ...[
        '<iframe srcdoc="<script>parent.ran=1</script>">',
        '<math><mi xlink:href="javascript:ran=1">',
        '<!--',
      ],
    ],
  ])('the page shows %j, %j and others in the texts of a cluster as texts', async (...signs) => {
    const fill = <T>(value: T, text: string): T =>
      JSON.parse(JSON.stringify(value), (key, one: unknown) =>
        typeof one === 'string' && !fixedKeys.has(key) && /n[12]|shop|because|save|wait/.test(one)
          ? `${one}${text}`
          : one,
      ) as T;
    const shown = async (text: string) => {
      writeFileSync(
        join(directory, 'filled.html'),
        pageFrom(fill(failedReport, text), wholeRun(fill(failedRun, text))),
      );
      const { page, asked } = await open('filled', 1280);
      const found =
        await page.evaluate(`({ ran: window.ran, tags: [...document.querySelectorAll('*')].map((one) =>
        one.tagName + [...one.attributes].map(({ name }) => ' ' + name).join('')) })`);
      const body = String(await page.evaluate('document.body.innerText'));
      await page.close();
      return { found, asked, hasText: body.includes(text.slice(0, 15)) };
    };
    expect(await shown(signs.join(''))).toEqual({
      ...(await shown('plain text of a cluster')),
      hasText: true,
    });
  });
  it("the page draws each member's versions, with details on hover", async () => {
    const { page } = await open('failed', 1280);
    const titles = await page.locator('svg title').allTextContents();
    expect(titles).toEqual(
      expect.arrayContaining(['n2 was unavailable for 200 ms', 'n2 was rolled back to the old version']),
    );
    const boxes = await page
      .locator('svg rect.down')
      .evaluateAll((all) => all.map((one) => one.getBoundingClientRect().width));
    expect(Math.min(...boxes)).toBeGreaterThan(0.5);
    await page.close();
  });
  it('folds and unfolds its details without a script', async () => {
    const { page } = await open('good', 1280);
    await page.getByText('Steps (9)').click();
    expect(await page.getByText('n2.snapshot').isVisible()).toBe(true);
    await page.close();
  });
});
