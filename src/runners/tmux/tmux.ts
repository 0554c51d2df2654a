import { execFile } from 'node:child_process';
import { RelayError } from '../../base/errors.ts';

export type Pane = Readonly<Awaited<ReturnType<Tmux['pane']>>>;

/** What a pane shows at one moment. */
export type PaneView = Readonly<Awaited<ReturnType<Tmux['view']>>>;

/** The tmux commands that a bridge uses. Text is passed through a tmux buffer and never as an argument. */
export class Tmux {
  readonly #args: readonly string[];

  constructor(args: readonly string[] = []) {
    this.#args = args;
  }

  /**
   * Returns the state of a pane:
   * - `id`, such as `%3`. It stays the same when windows move.
   * - `dead`: true if the program of the pane has ended.
   * - `inMode`: true if someone is scrolling in the pane. Then tmux would not pass the keys to the program.
   * - `cursor`: the cursor position. It changes with Enter even if nothing is displayed.
   * - `tty`: the terminal device.
   * - `command`: the foreground program.
   */
  async pane(target: string) {
    const format =
      '#{pane_id} #{pane_dead} #{pane_in_mode} #{cursor_x},#{cursor_y} #{pane_tty} #{pane_current_command}';
    const answer = await this.#run(['display-message', '-p', '-t', target, format]);
    const [id, dead, inMode, cursor = '', tty = '', ...command] = answer.trimEnd().split(' ');
    // tmux answers with empty fields if the pane does not exist.
    if (!id?.startsWith('%')) throw agentGone(await this.#noTarget(target));
    return { id, dead: dead === '1', inMode: inMode !== '0', cursor, tty, command: command.join(' ') };
  }

  /** Returns a text that says that a target does not exist and lists the existing panes. */
  async #noTarget(target: string): Promise<string> {
    const format = '#{session_name}:#{window_index}.#{pane_index} (#{pane_current_command})';
    const panes = await this.#run(['list-panes', '-a', '-F', format]).catch(() => '');
    const some = panes.trim().split('\n').filter(Boolean).slice(0, 20);
    const list = some.length === 0 ? 'tmux has no panes.' : `The panes are: ${some.join(', ')}.`;
    const targetName = JSON.stringify(target.replace(/^=/, ''));
    return `tmux has no target ${targetName}. A target is SESSION, SESSION:WINDOW or SESSION:WINDOW.PANE. ${list}`;
  }

  /** Returns the title and the screen of a pane. One command captures both, so that they belong together. */
  async view(pane: string) {
    const title = ['display-message', '-p', '-t', pane, '#{pane_dead} #{pane_title}'];
    const answer = await this.#run([...title, ';', ...captureArgs(pane)]);
    const end = answer.indexOf('\n');
    const dead = answer.startsWith('1 ');
    return { dead, title: answer.slice(2, end).trim(), screen: answer.slice(end + 1) };
  }

  leaveMode(pane: string): Promise<unknown> {
    return this.#run(['send-keys', '-t', pane, '-X', 'cancel']);
  }

  /** Returns the visible text, or the whole history with `all`. Lines that were wrapped are joined again. */
  capture(pane: string, o: { all?: boolean } = {}): Promise<string> {
    return this.#run([...captureArgs(pane), ...(o.all ? ['-S', '-'] : [])]);
  }

  /** Pastes text. If the program supports bracketed paste, it gets several lines as one input. */
  async paste(pane: string, text: string, buffer: string): Promise<void> {
    await this.#run(['load-buffer', '-b', buffer, '-'], text);
    await this.#run(['paste-buffer', '-p', '-d', '-b', buffer, '-t', pane]);
  }

  key(pane: string, key: string): Promise<unknown> {
    return this.#run(['send-keys', '-t', pane, key]);
  }

  #run(args: readonly string[], input?: string): Promise<string> {
    return new Promise((resolve, reject) => {
      const options = { maxBuffer: Number.POSITIVE_INFINITY };
      // Force UTF-8. In other locales, tmux replaces every character that is not ASCII with `_`.
      const child = execFile('tmux', ['-u', ...this.#args, ...args], options, (error, out, err) => {
        if (!error) resolve(out);
        else if (child.pid === undefined) reject(agentGone(`tmux could not be started: ${error.message}`));
        else reject(agentGone(`tmux says: ${err.trim() || `exit code ${child.exitCode}`}.`));
      });
      // Ignore write errors. tmux may end without reading its input, and its exit code says why.
      child.stdin!.on('error', () => {});
      child.stdin!.end(input ?? '');
    });
  }
}

/** Arguments to capture a pane; -J joins wrapped lines. */
function captureArgs(pane: string): string[] {
  return ['capture-pane', '-p', '-J', '-t', pane];
}

export function agentGone(what: string): RelayError {
  return new RelayError('agent_gone', { what });
}
