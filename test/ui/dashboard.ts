import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { buildDashboard } from '../../scripts/build/dashboard.ts';
import { filesIn } from '../../src/app/serve/dashboard-files.ts';
import { openBrowser } from '../browser/chromium.ts';
import { type RelayOptions, type RelayUnderTest, startRelay } from '../http/relay-under-test.ts';
import { TIMEOUT_MS } from '../until.ts';

export interface Dashboard extends AsyncDisposable {
  readonly relay: RelayUnderTest;
  readonly browser: Browser;
  /** URL of the server. */
  readonly url: string;
  /** Console errors, policy violations and requests to other hosts. No page may cause any. */
  readonly problems: string[];
  /** Opens a page in its own window and records problems. */
  open(path: string, o?: BrowserContextOptions): Promise<Page>;
}

/** Builds the pages into a temporary folder. */
export async function buildPages(): Promise<{ folder: string; remove(): void }> {
  const folder = mkdtempSync(join(tmpdir(), 'relay-ui-'));
  await buildDashboard(folder);
  return { folder, remove: () => rmSync(folder, { recursive: true, force: true }) };
}

/** Starts a relay with its dashboard, and a real browser. */
export async function openDashboard(o: RelayOptions = {}): Promise<Dashboard> {
  const pages = await buildPages();
  const relay = await startRelay({ ...o, server: { ...o.server, dashboard: filesIn(pages.folder) } });
  const browser = await openBrowser();
  const problems: string[] = [];
  return {
    relay,
    browser,
    url: relay.url,
    problems,
    async open(path, options = {}) {
      const context = await browser.newContext({ viewport: { width: 1280, height: 860 }, ...options });
      // Playwright waits 30 s by default, which is too short on a busy machine.
      context.setDefaultTimeout(TIMEOUT_MS);
      const page = await context.newPage();
      watch(page, relay.url, problems);
      await page.goto(relay.url + path);
      return page;
    },
    async [Symbol.asyncDispose]() {
      await browser.close();
      await relay[Symbol.asyncDispose]();
      pages.remove();
    },
  };
}

function watch(page: Page, url: string, problems: string[]): void {
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning')
      problems.push(`${page.url()}: ${message.text()}`);
  });
  page.on('pageerror', (error) => problems.push(`${page.url()}: ${error.message}`));
  page.on('dialog', (dialog) => {
    problems.push(`${page.url()}: a script ran: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on('request', (request) => {
    const requestUrl = request.url();
    if (!/^(?:data|blob):/.test(requestUrl) && !requestUrl.startsWith(`${url}/`))
      problems.push(`asked ${requestUrl}`);
  });
}
