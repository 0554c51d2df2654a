/**
 * npm run docs:screenshots [-- FOLDER [PAGE…]]: takes the screenshots in docs/images, of a dashboard with the tests'
 * content. With FOLDER, takes screenshots of each PAGE (default: all pages) in two widths and two themes into FOLDER.
 */
import { join } from 'node:path';
import { openDemo } from '../../test/ui/demo/content.ts';
import { everyPage } from '../../test/ui/pages.ts';

const [folder = join(import.meta.dirname, '../../docs/images'), ...selectedNames] = process.argv.slice(2);

/** Screenshots in docs/images: name of the file → name of the page. */
const DOCS: { readonly [name: string]: string } = {
  'dashboard-overview': 'overview',
  'dashboard-run': 'run',
  'dashboard-thread': 'state',
};

await using opened = await openDemo();
const { dashboard, demo } = opened;
const pages = everyPage(demo);
const ofDocs = Object.entries(DOCS).map(([file, name]) => ({
  file,
  name,
  width: 1280,
  colorScheme: 'light' as const,
}));
const all = Object.keys(pages)
  .filter((name) => selectedNames.length === 0 || selectedNames.includes(name))
  .flatMap((name) =>
    [390, 1440].flatMap((width) =>
      (['light', 'dark'] as const).map((colorScheme) => {
        return { file: `${name}-${width}-${colorScheme}`, name, width, colorScheme };
      }),
    ),
  );
for (const { file, name, width, colorScheme } of process.argv.length > 2 ? all : ofDocs) {
  const page = await dashboard.open(pages[name]!, { viewport: { width, height: 860 }, colorScheme });
  await page.locator('main h1, main .empty-title').first().waitFor();
  await page.waitForFunction(() => document.querySelectorAll('main [aria-busy="true"]').length === 0);
  // Wait for the charts, which are drawn after their data has arrived.
  await page.waitForTimeout(400);
  await page.screenshot({ path: join(folder, `${file}.png`), fullPage: process.argv.length > 2 });
  await page.context().close();
}
if (dashboard.problems.length > 0) {
  console.error(dashboard.problems.join('\n'));
  process.exitCode = 1;
}
