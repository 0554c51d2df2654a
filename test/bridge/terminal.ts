import { execFile } from 'node:child_process';
import { resolve } from 'node:path';
import { promisify } from 'node:util';
import { endGroup } from '../../scripts/test-file.ts';

const run = promisify(execFile);
const AGENT = resolve(import.meta.dirname, 'scripts/tui-agent.ts');

export interface TerminalUnderTest extends AsyncDisposable {
  readonly session: string;
  /** Arguments that make tmux use the separate server. */
  readonly tmuxArgs: readonly string[];
  tmux(...args: string[]): Promise<string>;
  screen(): Promise<string>;
}

/**
 * Starts a separate tmux server with the scripted agent or another program. With `socketFolder`, it is the default
 * server for programs that use this socket folder.
 */
export async function openTerminal(
  o: { env?: { [name: string]: string }; command?: string; socketFolder?: string } = {},
): Promise<TerminalUnderTest> {
  const session = 'agent';
  const name = o.socketFolder
    ? 'default'
    : `relay-test-${process.pid}-${Math.random().toString(36).slice(2)}`;
  const tmuxArgs = ['-L', name, '-f', '/dev/null'];
  // Remove these variables: with them, some agents assume that no person is at the terminal, and exit.
  const { CI: _, CONTINUOUS_INTEGRATION: __, GITHUB_ACTIONS: ___, ...inherited } = process.env;
  const around = { ...inherited, ...(o.socketFolder ? { TMUX_TMPDIR: o.socketFolder } : {}) };
  const tmux = async (...args: string[]) =>
    (await run('tmux', [...tmuxArgs, ...args], { env: around })).stdout;
  const env = Object.entries(o.env ?? {}).flatMap(([name, value]) => ['-e', `${name}=${value}`]);
  const command = o.command ?? `exec ${process.execPath} ${AGENT}`;
  await tmux('new-session', '-d', '-s', session, '-x', '100', '-y', '30', ...env, command);
  return {
    session,
    tmuxArgs,
    tmux,
    screen: () => tmux('capture-pane', '-p', '-t', session),
    async [Symbol.asyncDispose]() {
      const group = Number(await tmux('display-message', '-p', '-t', session, '#{pane_pid}').catch(() => 0));
      // Ignore an error: the test may have ended the server.
      await tmux('kill-server').catch(() => {});
      // Kill the process group, because some programs survive their terminal.
      if (group > 1) endGroup(group);
    },
  };
}
