import assert from 'node:assert/strict';
import { appendFileSync, globSync, readFileSync, statSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { type Installation, install } from '../package/installation.ts';
import { must, outsideEnv, ROOT, run } from '../package/processes.ts';
import { PAGES, pageText, runPage } from './pages.ts';
import { type Scene, startScene } from './scene.ts';

/**
 * Runs an install command of each page of docs/integrations in a new folder. Then runs the code of the page there,
 * and the tests of the integration with the installed packages. The first command of a page installs the newest
 * tested versions, the second the oldest.
 */

let scene: Scene;
before(async () => {
  scene = await startScene();
});
after(() => scene[Symbol.asyncDispose]());

/** npm chooses package versions for the Node that runs npm, so the Node of these tests runs npm. */
const NPM_PATH = [dirname(process.execPath), outsideEnv().PATH].join(delimiter);

describe('the code of a page and the tests pass after an install command of the page', () => {
  for (const page of PAGES) {
    const commands = [...pageText(page).matchAll(/`npm install ([^`]+)`/g)].map(([, packages]) => packages!);
    test(`docs/integrations/${page}.md has an install command`, () => assert.ok(commands[0]));
    for (const [i, packages] of commands.entries()) {
      test(`${page}: npm install ${packages}`, async (t) => {
        using fresh = await install();
        const folder = join(fresh.folder, 'node_modules');
        const ownSize = sizeOf(folder);
        await must('npm', ['install', '--no-audit', '--no-fund', ...packages.split(' ')], {
          cwd: fresh.folder,
          env: outsideEnv({ PATH: NPM_PATH }),
        });
        const bytes = sizeOf(folder) - ownSize;
        const name = /^@?[^@]+/.exec(packages)![0].split(' ')[0]!;
        const { version } = JSON.parse(readFileSync(join(folder, name, 'package.json'), 'utf8'));
        t.diagnostic(`${name} ${version}: ${Math.round(bytes / 1e6)} MB`);
        const missing = await runPage(page, fresh, scene);
        await runTests(page, fresh);
        const file = process.env.HAND_OVER_FILE;
        const measured = i === 0 ? { page, bytes, newest: version } : { page, oldest: version };
        if (file) appendFileSync(file, `${JSON.stringify(measured)}\n`);
        if (missing) t.skip(missing);
      });
    }
  }
});

/** Runs the tests of an integration with the frameworks that are installed in a folder. */
async function runTests(page: string, { folder }: Installation): Promise<void> {
  for (const file of globSync(`src/integrations/${page}/*.slow.test.ts`, { cwd: ROOT })) {
    const preload = join(import.meta.dirname, 'other-frameworks.ts');
    const done = await run(process.execPath, ['--import', preload, file], {
      cwd: ROOT,
      env: outsideEnv({ FRAMEWORKS: folder, HAND_OVER_FILE: '' }),
    });
    assert.equal(done.code, 0, `${file}\n${done.stdout}\n${done.stderr}`);
  }
}

function sizeOf(folder: string): number {
  return globSync('**', { cwd: folder })
    .map((file) => statSync(join(folder, file), { throwIfNoEntry: false }))
    .reduce((sum, stat) => sum + (stat?.isFile() ? stat.size : 0), 0);
}
