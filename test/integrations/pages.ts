import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { installedClient } from '../clients/installed-clients.ts';
import type { Installation } from '../package/installation.ts';
import { outsideEnv, ROOT, run } from '../package/processes.ts';
import { NEEDLE, type Scene } from './scene.ts';

export const PAGES = [
  'ai',
  'claude-agent',
  'deepagents',
  'google-adk',
  'langchain',
  'langgraph',
  'mastra',
  'openai-agents',
];

export function pageText(page: string): string {
  return readFileSync(join(ROOT, `docs/integrations/${page}.md`), 'utf8');
}

/**
 * Runs the code of a page in an installation. The file of the page in test/integrations/pages contains code that runs
 * before the code of the page, such as a fake model. It also contains assertions that run after it. Returns a reason
 * to skip if this machine lacks a program.
 */
export async function runPage(
  page: string,
  { folder, home, write }: Pick<Installation, 'folder' | 'home' | 'write'>,
  scene: Scene,
): Promise<string | undefined> {
  const client = page === 'claude-agent' ? installedClient('claude') : { program: '' };
  if ('missing' in client) return client.missing;
  const code = [...pageText(page).matchAll(/^```ts\n(.*?)^```$/gms)].map((match) => match[1]!);
  assert.ok(code.length > 0);
  const [before, after] = readFileSync(join(import.meta.dirname, 'pages', `${page}.txt`), 'utf8').split(
    '// the page\n',
  );
  const program = write(`${page}.ts`, [before, ...code, after].join('\n'));
  const env = outsideEnv({
    CONTEXTRELAY_URL: scene.server.url,
    CLAUDE_PROGRAM: client.program,
    NEEDLE,
    SCRATCH: home,
  });
  const done = await run(process.execPath, [program], { cwd: folder, env });
  assert.equal(done.code, 0, `${done.stdout}\n${done.stderr}`);
  return undefined;
}
