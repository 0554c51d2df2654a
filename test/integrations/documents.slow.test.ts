import { mkdirSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { type Installation, install } from '../package/installation.ts';
import { ROOT } from '../package/processes.ts';
import { PAGES, runPage } from './pages.ts';
import { type Scene, startScene } from './scene.ts';

/**
 * Runs the code of every page in docs/integrations with the published package. The file of a page in
 * test/integrations/pages contains code that runs before the code of the page, such as a fake model. It also contains
 * assertions that run after it.
 */

const FRAMEWORKS = join(ROOT, 'src/integrations/node_modules');
const TOP_LEVEL = [
  '@anthropic-ai',
  '@google',
  '@langchain',
  '@mastra',
  '@openai',
  'ai',
  'deepagents',
  'langchain',
  'zod',
];

let scene: Scene;
let installation: Installation;
before(async () => {
  scene = await startScene();
  installation = await install();
  for (const name of TOP_LEVEL) {
    const link = join(installation.folder, 'node_modules', name);
    mkdirSync(dirname(link), { recursive: true });
    symlinkSync(join(FRAMEWORKS, name), link, 'junction');
  }
});
after(async () => {
  await scene[Symbol.asyncDispose]();
  installation[Symbol.dispose]();
});

describe('the code of a page runs unchanged', () => {
  for (const page of PAGES) {
    test(`docs/integrations/${page}.md`, async (t) => {
      const missing = await runPage(page, installation, scene);
      if (missing) t.skip(missing);
    });
  }
});
