import { RelayError } from '../../base/errors.ts';
import type { Runner } from './runner.ts';

export interface TmuxOptions {
  /** `work`, or `work:0` with the window in it. */
  readonly session: string;
  readonly window?: string;
  /** Which agent runs there: `claude`, `codex`, `gemini`… Found out by itself by default. */
  readonly profile?: string;
  /** More profiles, or others in place of those there are. */
  readonly profiles?: { readonly [name: string]: unknown };
  /** Arguments of tmux itself, such as `-L` and a socket's name. */
  readonly tmuxArgs?: readonly string[];
  /** How long the screen may be still before the task is reported as stuck, in ms; 60 000 by default. */
  readonly stuckAfter?: number;
  /** The agent's environment. CLAUDE_CONFIG_DIR says where Claude Code writes its state. This process's by default. */
  readonly env?: { readonly [name: string]: string | undefined };
}

export interface ExecOptions {
  /** A line for the shell. `{file}` and `{url}` stand for the task in a file, and for its pointer. */
  readonly command: string;
  readonly cwd?: string;
  readonly env?: { readonly [name: string]: string | undefined };
}

/** The command starts an agent which speaks ACP on its standard input and output. */
export interface AcpOptions extends ExecOptions {
  /** What the agent may do without a person to ask: everything, only look, or nothing. `reads` by default. */
  readonly allow?: 'all' | 'reads' | 'none';
}

/** Runners that need more than a browser has. */
export interface NodeRunners {
  tmux(o: TmuxOptions): Promise<Runner>;
  exec(o: ExecOptions): Promise<Runner>;
  acp(o: AcpOptions): Promise<Runner>;
}

export type RunnerOptions<K extends keyof NodeRunners> = Parameters<NodeRunners[K]>[0];

/** Where the published package keeps them. Not in sight of bundlers: what is made for a browser must not hold them. */
const OWN_RUNNERS: string = 'contextrelay/runners';

export async function runnerOf<K extends keyof NodeRunners>(kind: K, o: RunnerOptions<K>): Promise<Runner> {
  let runners: NodeRunners;
  try {
    runners = ((await import(OWN_RUNNERS)) as { nodeRunners: NodeRunners }).nodeRunners;
  } catch (error) {
    const hint = 'Run it in Node, or pass a `runner` of your own to AgentBridge.';
    throw new RelayError('failed', { what: `A bridge to ${kind} needs Node.`, hint }, error);
  }
  return (runners[kind] as (o: RunnerOptions<K>) => Promise<Runner>)(o);
}
