import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { installedClient } from '../clients/installed-clients.ts';
import { type Installation, install } from '../package/installation.ts';
import { outsideEnv, ROOT, run } from '../package/processes.ts';
import { NEEDLE, type Scene, startScene } from './scene.ts';

/**
 * Runs the code of every page in docs/integrations with the published package. What a page assumes, such as a model,
 * and the final assertions are in test/integrations/pages.
 */

const PAGES = ['ai', 'claude-agent', 'deepagents', 'langchain', 'langgraph', 'mastra', 'openai-agents'];
const FRAMEWORKS = join(ROOT, 'src/integrations/node_modules');
const TOP_LEVEL = [
  '@anthropic-ai',
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
      const client = page === 'claude-agent' ? installedClient('claude') : { program: '' };
      if ('missing' in client) return t.skip(client.missing);
      const code = blocks(readFileSync(join(ROOT, `docs/integrations/${page}.md`), 'utf8'));
      assert.ok(code.length > 0);
      const around = readFileSync(join(import.meta.dirname, 'pages', `${page}.txt`), 'utf8').split(
        '// the page\n',
      );
      const program = installation.write(`${page}.ts`, [around[0], ...code, around[1]].join('\n'));
      const env = outsideEnv({
        CONTEXTRELAY_URL: scene.server.url,
        CLAUDE_PROGRAM: client.program,
        NEEDLE,
        SCRATCH: installation.home,
      });
      const {
        code: exit,
        stderr,
        stdout,
      } = await run(process.execPath, [program], { cwd: installation.folder, env });
      assert.equal(exit, 0, `${stdout}\n${stderr}`);
    });
  }
});

function blocks(markdown: string): string[] {
  return [...markdown.matchAll(/^```ts\n(.*?)^```$/gms)].map(([, code]) => code!);
}
