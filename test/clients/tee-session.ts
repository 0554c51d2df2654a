import { execFileSync } from 'node:child_process';
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { cleanEnv, ENTRY, NODE } from '../cli/program.ts';
import { CLIENT_RUNS } from '../mcp/client-runs.ts';
import { FakeModel, type Move } from './fake-model.ts';
import { type ClientName, installedClient, type Ran, runClient } from './installed-clients.ts';

/** The clone's `relay` script, which the clients' settings and the model's commands run. */
export const RELAY = resolve(import.meta.dirname, '../../relay');

/** The tool with which each client runs shell commands. */
export const SHELLS = {
  claude: 'Bash',
  gemini: 'run_shell_command',
  opencode: 'bash',
  codex: 'exec_command',
} as const;

/**
 * Program that prints a test run of about 50 000 tokens with one failure. It pauses, because OpenCode loses lines of
 * fast programs.
 */
const FAILING = `for (let i = 1; i <= 4000; i++) {
  console.log(i === 2001 ? 'not ok 2001 - closes the connection\\n  Error: connection reset by the server' : 'ok ' + i + ' - parses the line number ' + i);
  if (i % 100 === 0) await new Promise((resolve) => setTimeout(resolve, 20));
}
process.exitCode = 1;
`;

/** A temporary home for a client and the relay, with a program that prints a long output and fails. */
export class TeeSession implements Disposable {
  readonly home = realpathSync(mkdtempSync(join(tmpdir(), 'relay-tee-')));
  readonly client: ClientName;

  constructor(client: ClientName) {
    this.client = client;
    writeFileSync(join(this.home, 'failing.mjs'), FAILING);
  }

  /** Runs the relay's command line with this home. */
  relay(...args: string[]): string {
    const env = { ...cleanEnv({ home: join(this.home, '.relay') }), HOME: this.home };
    return execFileSync(NODE, [ENTRY, ...args], { cwd: this.home, env, encoding: 'utf8' });
  }

  /**
   * Runs the client with a fake model that makes these moves in order. `prepare` is called after the settings of the
   * client are written. `answers` are the results of the tools.
   */
  async run(
    moves: readonly ((answers: readonly string[]) => Move)[],
    o: { prepare?(): void; args?(args: readonly string[]): string[]; env?: Record<string, string> } = {},
  ): Promise<{ answers: string[]; ran: Ran; requests: string[] }> {
    const found = installedClient(this.client);
    if ('missing' in found) throw new Error(found.missing);
    let answers: readonly string[] = [];
    await using model = new FakeModel((toolResults) => {
      answers = toolResults;
      return moves[toolResults.length]?.(toolResults) ?? { text: 'done' };
    }, SHELLS[this.client]);
    const relayHome = join(this.home, '.relay');
    const way = CLIENT_RUNS[this.client]({
      model: await model.start(),
      home: this.home,
      stdio: { command: NODE, args: [ENTRY, 'mcp'] },
      env: { RELAY_HOME: relayHome },
    });
    o.prepare?.();
    const ran = await runClient(found.program, o.args?.(way.args) ?? way.args, {
      cwd: this.home,
      home: this.home,
      env: { RELAY_HOME: relayHome, SHELL: '/bin/bash', ...way.env, ...o.env },
    });
    return { answers: [...answers], ran, requests: model.requests.map(({ body }) => body) };
  }

  /** Returns a move that runs a shell command. */
  shell(command: string, more: object = {}): Move {
    const args = this.client === 'codex' ? { cmd: command } : { command, description: 'run it' };
    return { tool: SHELLS[this.client], args: { ...args, ...more } };
  }

  [Symbol.dispose](): void {
    rmSync(this.home, { recursive: true, force: true, maxRetries: 5 });
  }
}

/** Returns the number of the handle in the last line of an excerpt. */
export function handleIn(text: string): string {
  return /\[relay:(\d+) · /.exec(text)?.[1] ?? '';
}
