import { spawn } from 'node:child_process';
import type { Environment } from '../config.ts';

/** Long enough for a cold start on a busy machine. */
const ANSWER_MS = 10_000;

/** Starts an MCP server over stdio as a client would, and asks for its tools. Throws a sentence where that fails. */
export async function listTools(
  server: { readonly command: string; readonly args: readonly string[] },
  env: Environment,
): Promise<string[]> {
  const child = spawn(server.command, [...server.args], { env: { ...env }, stdio: ['pipe', 'pipe', 'pipe'] });
  let stderr = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  child.stdin.on('error', () => {});
  const failed = new Promise<never>((_, reject) => {
    const timer = setTimeout(
      () => reject(new Error(`it did not answer within ${ANSWER_MS / 1000} s`)),
      ANSWER_MS,
    );
    timer.unref();
    child.once('error', (error) => reject(error));
    child.once('close', (code) => {
      const words = stderr
        .trim()
        .split('\n')[0]
        ?.replace(/^error /, '');
      reject(new Error(`it ended with ${code}${words ? `: ${words}` : ''}`));
    });
  });
  failed.catch(() => {});
  const answers = new Answers(child.stdout.setEncoding('utf8'));
  const ask = (message: object) => child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  try {
    const clientInfo = { name: 'relay doctor', version: '1' };
    ask({
      id: 1,
      method: 'initialize',
      params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo },
    });
    await Promise.race([answers.to(1), failed]);
    ask({ method: 'notifications/initialized' });
    ask({ id: 2, method: 'tools/list', params: {} });
    const { tools } = (await Promise.race([answers.to(2), failed])) as { tools?: { name: string }[] };
    if (!Array.isArray(tools)) throw new Error('it did not list its tools');
    return tools.map(({ name }) => name);
  } finally {
    child.stdin.end();
    child.kill();
  }
}

/** Lines of JSON, each an answer to a number. */
class Answers {
  #text = '';
  #waiting = new Map<number, { resolve(result: unknown): void; reject(error: Error): void }>();

  constructor(stdout: NodeJS.ReadableStream) {
    stdout.on('data', (text: string) => {
      this.#text += text;
      for (let end = this.#text.indexOf('\n'); end >= 0; end = this.#text.indexOf('\n')) {
        this.#take(this.#text.slice(0, end));
        this.#text = this.#text.slice(end + 1);
      }
    });
  }

  to(id: number): Promise<unknown> {
    return new Promise((resolve, reject) => this.#waiting.set(id, { resolve, reject }));
  }

  #take(line: string): void {
    if (line.trim() === '') return;
    let message: { id?: number; result?: unknown; error?: { message?: string } };
    try {
      message = JSON.parse(line);
    } catch {
      for (const { reject } of this.#waiting.values())
        reject(new Error('it wrote something that is not JSON to stdout'));
      return;
    }
    const waiter = this.#waiting.get(message.id ?? -1);
    if (message.error) waiter?.reject(new Error(message.error.message ?? 'it answered with an error'));
    else waiter?.resolve(message.result);
  }
}
