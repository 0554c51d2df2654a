import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { ROOT } from '../servers.ts';
import type { Output } from './corpus.ts';

export const CONTEXT_MODE = 'context-mode@1.0.169';
const FOLDER = join(ROOT, 'node_modules', '.cache', CONTEXT_MODE);
const START = join(FOLDER, 'node_modules', 'context-mode', 'cli.bundle.mjs');

const CALL_MS = 30_000;

/** Texts that context-mode returns for an output. */
export interface ContextModeAnswers {
  /** Answer of `ctx_execute` without a question. */
  readonly blind: string;
  /** Answers of `ctx_execute` with a question as `intent`, one per question. */
  readonly intents: readonly string[];
  /** Answers of `ctx_search` to the questions, one per question. */
  readonly searches: readonly string[];
}

/** Installs the package once into a cache folder. Returns the reason if it cannot be installed, or null. */
export function installContextMode(): string | null {
  if (existsSync(START)) return null;
  mkdirSync(FOLDER, { recursive: true });
  const args = [
    'install',
    '--prefix',
    FOLDER,
    '--no-save',
    '--ignore-scripts',
    '--no-audit',
    '--no-fund',
    CONTEXT_MODE,
  ];
  const { status } = spawnSync('npm', args, { stdio: 'ignore', timeout: 60_000 });
  if (status === 0 && existsSync(START)) return null;
  rmSync(FOLDER, { recursive: true, force: true });
  return `npm could not install ${CONTEXT_MODE}`;
}

/**
 * Runs an output through context-mode as its README says: `ctx_execute` gets the command, without and with a question as
 * `intent`, and one `ctx_search` gets all questions. Each output gets a new server with an empty home, because searches
 * share one knowledge base and are throttled per session.
 */
export async function askContextMode(
  { text }: Output,
  questions: readonly string[],
): Promise<ContextModeAnswers> {
  const home = mkdtempSync(join(FOLDER, 'home-'));
  const file = join(home, 'output.txt');
  writeFileSync(file, text);
  const child = spawn(process.execPath, [START], {
    cwd: home,
    env: { PATH: process.env.PATH, HOME: home },
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  const ended = once(child, 'exit');
  const waiting = new Map<number, (message: Answer) => void>();
  createInterface({ input: child.stdout }).on('line', (line) => {
    if (!line.startsWith('{')) return;
    const message = JSON.parse(line) as Answer;
    waiting.get(message.id)?.(message);
  });
  let id = 0;
  const send = (message: object) => child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  const request = (method: string, params: object) =>
    new Promise<Answer>((resolve, reject) => {
      waiting.set(++id, resolve);
      void ended.then(() => reject(new Error('context-mode ended')));
      setTimeout(() => reject(new Error('context-mode did not answer')), CALL_MS).unref();
      send({ id, method, params });
    });
  const call = async (name: string, args: object) => {
    const { result } = await request('tools/call', { name, arguments: args });
    return (result?.content ?? []).map((part) => part.text ?? '').join('\n');
  };
  try {
    const clientInfo = { name: 'bench', version: '1' };
    await request('initialize', { protocolVersion: '2025-06-18', capabilities: {}, clientInfo });
    send({ method: 'notifications/initialized' });
    const execute = { language: 'shell', code: `cat ${file}` };
    const blind = await call('ctx_execute', execute);
    const intents: string[] = [];
    for (const intent of questions) intents.push(await call('ctx_execute', { ...execute, intent }));
    const searchOutput = await call('ctx_search', { queries: questions });
    return {
      blind,
      intents,
      searches: questions.map((question) => sectionOf(searchOutput, question, questions)),
    };
  } finally {
    child.kill('SIGKILL');
    await ended;
    rmSync(home, { recursive: true, force: true });
  }
}

interface Answer {
  readonly id: number;
  readonly result?: { readonly content?: readonly { readonly text?: string }[] };
}

/** Returns the section of one query in the answer to several queries. */
function sectionOf(searchOutput: string, question: string, questions: readonly string[]): string {
  const from = searchOutput.indexOf(`## ${question}`);
  if (from < 0) return '';
  const later = questions.map((other) => searchOutput.indexOf(`## ${other}`)).filter((at) => at > from);
  return searchOutput.slice(from, Math.min(searchOutput.length, ...later));
}
