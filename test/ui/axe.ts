import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Page } from 'playwright-core';
import type { Demo } from './demo/content.ts';
import { everyPage } from './pages.ts';

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** Checks every page of the demo with axe, and that no page is wider than the window. Checks all rules if `rules` is null. */
export async function findProblems(
  { dashboard, demo }: Demo,
  colorScheme: 'light' | 'dark',
  width: number,
  rules: readonly string[] | null,
): Promise<string[]> {
  const problems: string[] = [];
  for (const [name, path] of Object.entries(everyPage(demo))) {
    const page = await dashboard.open(path, { colorScheme, viewport: { width, height: 800 } });
    await waitUntilLoaded(page);
    problems.push(...(await violations(page, rules)).map((what) => `${name}: ${what}`));
    const over = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    if (over > 0) problems.push(`${name}: is ${over} pixels wider than the window`);
    await page.context().close();
  }
  return [...problems, ...dashboard.problems];
}

/** Runs axe-core through the debugger, which bypasses the page's content security policy. */
async function violations(page: Page, rules: readonly string[] | null): Promise<string[]> {
  await page.evaluate(AXE);
  return page.evaluate(async (only) => {
    type Found = { id: string; help: string; nodes: { html: string }[] };
    const { axe } = globalThis as unknown as {
      axe: { run(o: object): Promise<{ violations: Found[] }> };
    };
    const { violations } = await axe.run(only ? { runOnly: only } : {});
    return violations.map(({ id, help, nodes }) => `${id}: ${help}: ${nodes[0]!.html.slice(0, 200)}`);
  }, rules);
}

/** Waits until nothing is loading. */
export async function waitUntilLoaded(page: Page): Promise<void> {
  await page.locator('main h1, main .empty-title').first().waitFor();
  await page.waitForFunction(() => document.querySelectorAll('main [aria-busy="true"]').length === 0);
}
