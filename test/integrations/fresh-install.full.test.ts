import assert from 'node:assert/strict';
import { appendFileSync, globSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { install } from '../package/installation.ts';
import { must, outsideEnv } from '../package/processes.ts';
import { PAGES, pageText, runPage } from './pages.ts';
import { type Scene, startScene } from './scene.ts';

/** Runs each page of docs/integrations in a new folder, with only the packages that the page installs. */

let scene: Scene;
before(async () => {
  scene = await startScene();
});
after(() => scene[Symbol.asyncDispose]());

describe('the code of a page runs after its install command', () => {
  for (const page of PAGES) {
    test(`docs/integrations/${page}.md`, async (t) => {
      using fresh = await install();
      const folder = join(fresh.folder, 'node_modules');
      const own = sizeOf(folder);
      const command = /`npm install ([^`]+)`/.exec(pageText(page))?.[1];
      assert.ok(command, 'the page has an install command');
      const flags = ['--no-audit', '--no-fund'];
      await must('npm', ['install', ...flags, ...command.split(' ')], {
        cwd: fresh.folder,
        env: outsideEnv(),
      });
      const bytes = sizeOf(folder) - own;
      t.diagnostic(`npm install ${command}: ${Math.round(bytes / 1e6)} MB`);
      const file = process.env.HAND_OVER_FILE;
      if (file) appendFileSync(file, `${JSON.stringify({ page, bytes })}\n`);
      const missing = await runPage(page, fresh, scene);
      if (missing) t.skip(missing);
    });
  }
});

function sizeOf(folder: string): number {
  return globSync('**', { cwd: folder })
    .map((file) => statSync(join(folder, file), { throwIfNoEntry: false }))
    .reduce((sum, stat) => sum + (stat?.isFile() ? stat.size : 0), 0);
}
