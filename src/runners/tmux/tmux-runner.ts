import { TASK_INLINE_BYTES } from '../../base/limits.ts';
import { pause } from '../../base/pause.ts';
import { encodeUtf8 } from '../../base/utf8.ts';
import { readOutcome } from '../../client/bridge/outcome.ts';
import type { Job, Ran, Runner, TmuxOptions } from '../../client/bridge/runner.ts';
import {
  type AgentProfile,
  type AgentState,
  type CompiledProfile,
  claudeStatus,
  claudeStatusFile,
  compileProfile,
  findAgent,
  PROFILES,
} from './profiles.ts';
import { count, markOf, outputAfter, squeezed } from './screen.ts';
import { agentGone, type Pane, type PaneView, Tmux } from './tmux.ts';

const POLL_MS = 150;
/** The agent accepts input only after its screen was unchanged for this many ms. */
const STILL_MS = 500;
/** For this many ms, a blank screen counts as a program that is still starting. */
const BLANK_MS = 10_000;
/** Maximum time in ms that a paste may take to appear on the screen. */
const LAND_MS = 8_000;
/** Pause in ms before Enter is pressed. A program treats a key right after a paste as part of the paste. */
const BEFORE_ENTER_MS = 150;
/** Maximum time in ms that the screen may take to change after Enter. Then Enter is pressed again. */
const ENTER_MS = 2_000;
/** Maximum number of times that Enter is pressed. */
const ENTERS = 4;
/**
 * If the agent was never seen working, its task counts as done when new output is visible and the agent has
 * looked ready for this many ms.
 */
const UNSEEN_WORK_MS = 10_000;

/**
 * Matches control characters except line breaks and tabs. Such a character could end a paste, and the program
 * would treat the rest of the text as typed keys.
 */
const CONTROL = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/;

/**
 * What was observed at one time: the screen, the state of the agent, and for how many ms the screen has not
 * changed.
 */
interface Observation {
  readonly view: PaneView;
  readonly state: AgentState;
  readonly still: number;
}

const SHELL = /^-?(?:ba|z|da|k|fi)?sh$/;

/** Runs tasks with an agent that a person started in a terminal and may be watching there. */
export class TmuxRunner implements Runner {
  readonly kind = 'tmux';
  readonly target: string;
  readonly slots = 1;
  readonly #tmux: Tmux;
  readonly #profiles: { readonly [name: string]: AgentProfile };
  readonly #options: TmuxOptions;
  #agent: CompiledProfile = compileProfile('other', {});
  /** Name of the program for which the profile was chosen. */
  #command = '';
  /** Path of the program's status file. */
  #statusFile: string | null = null;

  constructor(o: TmuxOptions) {
    this.target = o.window === undefined ? o.session : `${o.session}:${o.window}`;
    this.#tmux = new Tmux(o.tmuxArgs);
    this.#profiles = withOwnProfiles(o.profiles ?? {});
    this.#options = o;
    if (o.profile !== undefined && !this.#profiles[o.profile]) {
      const names = Object.keys(this.#profiles).join(', ');
      throw agentGone(`there is no profile ${JSON.stringify(o.profile)}; the profiles are ${names}.`);
    }
  }

  async open(): Promise<void> {
    await this.#findAgent();
  }

  inline(text: string): boolean {
    return this.#agent.multiline && !CONTROL.test(text) && encodeUtf8(text).byteLength <= TASK_INLINE_BYTES;
  }

  async run(job: Job): Promise<Ran> {
    const pane = await this.#findAgent();
    const over = AbortSignal.any([job.signal, job.settled]);
    if (pane.inMode) await this.#tmux.leaveMode(pane.id);
    await this.#untilReady(pane.id, job, over);
    // Look for the agent again, because it may be recognized only after its start. If another agent is found
    // now, wait until it is ready.
    const { name } = this.#agent;
    await this.#findAgent();
    if (this.#agent.name !== name) await this.#untilReady(pane.id, job, over);
    const capture = async () => ({
      view: await this.#tmux.capture(pane.id),
      all: await this.#tmux.capture(pane.id, { all: true }),
    });
    const before = await capture();
    const readOutput = async () => outputAfter(await capture(), job.prompt, before);
    await this.#pastePrompt(pane.id, job, over);
    // Remember the text below the pasted input, such as the frame of an input box, because this text is not
    // an answer of the agent.
    const idle = squeezed(await readOutput());
    if (over.aborted) return { output: '' };
    await this.#enter(pane.id, job, over);
    const output = await this.#untilDone(pane.id, job, { readOutput, idle, over });
    // If the agent cannot be interrupted, it continues to work, but this task ends.
    if (job.signal.aborted) await this.#interrupt(pane).catch(() => {});
    if (over.aborted || readOutcome(output).found) return { output };
    const answer = this.#agent.aboveInput(output);
    if (squeezed(output) !== idle && squeezed(answer) !== '') return { output: answer };
    return { output: '', failed: `The agent in ${this.target} waits for input again, but gave no answer.` };
  }

  async close(): Promise<void> {}

  /** Finds the pane and its agent again, because the agent may change while the bridge runs. */
  async #findAgent(): Promise<Pane> {
    const pane = await this.#tmux.pane(exactly(this.target));
    if (pane.dead) throw agentGone(`the program in ${this.target} has ended.`);
    const screen = await this.#tmux.capture(pane.id);
    const { profile, env = process.env } = this.#options;
    if (profile !== undefined) this.#agent = compileProfile(profile, this.#profiles[profile]!);
    else {
      const found = findAgent(this.#profiles, { command: pane.command, screen });
      // If the program is the same but is no longer recognized, keep its profile. The text that identified it
      // may have scrolled off the screen.
      if (found.name !== 'other' || pane.command !== this.#command) this.#agent = found;
      this.#command = pane.command;
    }
    this.#statusFile = this.#agent.status === null ? null : await claudeStatusFile(pane.tty, env);
    return pane;
  }

  /**
   * Waits until the agent accepts input. This may take long if it is still starting or shows a dialog. The
   * wait ends when the job does.
   */
  async #untilReady(pane: string, job: Job, over: AbortSignal): Promise<void> {
    await this.#watch(pane, over, (look) => {
      const { view, state, still } = look;
      this.#report(job, look);
      const enough = view.screen.trim() === '' ? BLANK_MS : STILL_MS;
      return (
        still >= enough && (state.name === 'ready' || (state.name === 'unclear' && !this.#agent.showsReady))
      );
    });
    job.stuck?.(null);
  }

  /**
   * Pastes the prompt and waits until it appears. If the screen does not change at all, pastes it a second
   * time.
   */
  async #pastePrompt(pane: string, job: Job, over: AbortSignal): Promise<void> {
    for (let attempt = 1; !over.aborted; ) {
      const before = await this.#tmux.capture(pane);
      await this.#tmux.paste(pane, job.prompt, `relay-${job.id}`);
      let last: Observation | null = null;
      const hasAppeared = (look: Observation) => {
        last = look;
        return this.#showsPrompt(job, look.view.screen, before);
      };
      if (await this.#watch(pane, over, hasAppeared, LAND_MS)) return;
      const { view, state } = last! as Observation;
      if (state.name === 'asks') {
        // A dialog has just opened, and dialogs accept no paste. Wait until it is closed.
        await this.#untilReady(pane, job, over);
        if (this.#showsPrompt(job, await this.#tmux.capture(pane), before)) return;
      } else if (attempt++ === 2 || view.screen !== before) {
        throw agentGone(`the task was pasted into ${this.target}, but did not appear there.`);
      }
    }
  }

  /** Returns whether the prompt, or the placeholder of a long one, is new on this screen. */
  #showsPrompt({ prompt }: Job, screen: string, before: string): boolean {
    const mark = markOf(prompt);
    return (
      count(screen, mark) > count(before, mark) || this.#agent.pastes(screen) !== this.#agent.pastes(before)
    );
  }

  /**
   * Presses Enter until the screen changes. While a dialog is open, it waits, because Enter would answer the
   * dialog.
   */
  async #enter(pane: string, job: Job, over: AbortSignal): Promise<void> {
    await pause(BEFORE_ENTER_MS, over);
    const snapshot = async () => `${(await this.#tmux.pane(pane)).cursor} ${await this.#tmux.capture(pane)}`;
    const before = await snapshot();
    for (let attempt = 0; attempt < ENTERS && !over.aborted; attempt++) {
      await this.#watch(pane, over, (look) => {
        // If the input box shows our prompt, press Enter even if the screen looks like a dialog. A prompt
        // such as "1. Do this" looks like one.
        if (look.state.name !== 'asks' || this.#showsPrompt(job, look.view.screen, '')) return true;
        this.#report(job, look);
        return false;
      });
      if (over.aborted) return;
      await this.#tmux.key(pane, 'Enter');
      await pause(POLL_MS, over);
      if (await this.#watch(pane, over, async () => (await snapshot()) !== before, ENTER_MS)) return;
    }
    if (!over.aborted) throw agentGone(`${this.target} did not react to Enter.`);
  }

  /**
   * Waits until the agent is ready again, has printed an outcome, or the result came in another way. Returns
   * the output of the agent. If only the screen stops changing, the task has not ended: the agent may be
   * waiting for a person.
   */
  async #untilDone(
    pane: string,
    job: Job,
    o: { readOutput: () => Promise<string>; idle: string; over: AbortSignal },
  ): Promise<string> {
    const { settleMs, showsBusy } = this.#agent;
    let worked = false;
    await this.#watch(pane, o.over, async (look) => {
      const { view, state, still } = look;
      if (view.dead) throw agentGone(`the program in ${this.target} ended in the middle of the task.`);
      this.#report(job, look);
      worked ||= state.name === 'busy' || state.name === 'asks';
      if (still < settleMs || state.name === 'busy' || state.name === 'asks') return false;
      const output = await o.readOutput();
      if (readOutcome(output).found) return true;
      if (state.name !== 'ready') return false;
      return worked || !showsBusy || (still >= UNSEEN_WORK_MS && squeezed(output) !== o.idle);
    });
    return o.readOutput();
  }

  /** Reports to the bridge why the task is stuck, as far as the screen shows it. */
  #report(job: Job, { state, still }: Observation): void {
    const { stuckAfter = this.#agent.quietMs } = this.#options;
    const where = `tmux ${this.target}`;
    if (state.name === 'asks')
      job.stuck?.({ why: `The agent in ${where} waits for an answer`, asked: state.asked });
    else if (still < stuckAfter) job.stuck?.(null);
    else if (state.name === 'ready')
      job.stuck?.({ why: `The agent in ${where} has not reacted to the task` });
    else job.stuck?.({ why: `The screen of ${where} has not changed for ${stuckAfter / 1000} s` });
  }

  /**
   * Stops only the work of our task. It interrupts a known agent that works or asks, or a command that was
   * started in a shell since the task was pasted. In an unknown program, the key could end the program and
   * its session.
   */
  async #interrupt(pane: Pane): Promise<void> {
    const now = await this.#tmux.pane(pane.id);
    const { interrupt, showsBusy } = this.#agent;
    if (now.dead) return;
    if (now.command !== pane.command) {
      if (SHELL.test(pane.command)) await this.#tmux.key(pane.id, 'C-c');
    } else if (interrupt !== null) {
      const { name } = (await this.#observe(pane.id)).state;
      if (!showsBusy || name === 'busy' || name === 'asks') await this.#tmux.key(pane.id, interrupt);
    }
  }

  async #observe(pane: string): Promise<Omit<Observation, 'still'>> {
    const view = await this.#tmux.view(pane);
    const status = this.#statusFile === null ? null : await claudeStatus(this.#statusFile);
    return { view, state: this.#agent.state({ ...view, status }) };
  }

  /** Observes the agent until `isDone` returns true. Returns false if the time or the job is over before that. */
  async #watch(
    pane: string,
    over: AbortSignal,
    isDone: (look: Observation) => boolean | Promise<boolean>,
    withinMs = Number.POSITIVE_INFINITY,
  ): Promise<boolean> {
    const began = Date.now();
    let last: string | null = null;
    let since = began;
    while (!over.aborted && Date.now() - began < withinMs) {
      const look = await this.#observe(pane);
      if (look.view.screen !== last) since = Date.now();
      last = look.view.screen;
      if (await isDone({ ...look, still: Date.now() - since })) return true;
      await pause(POLL_MS, over);
    }
    return false;
  }
}

/**
 * Adds the profiles of agents.json to the built-in profiles. If a profile in agents.json has the name of a
 * built-in profile, its missing fields come from the built-in profile. So an older agents.json gets newer fields.
 */
function withOwnProfiles(own: NonNullable<TmuxOptions['profiles']>): typeof PROFILES {
  const merged = Object.entries(own).map(([name, profile]) => [
    name,
    { ...PROFILES[name], ...(profile as object) },
  ]);
  return { ...PROFILES, ...Object.fromEntries(merged) };
}

/**
 * Returns a target that matches only this session name. For `work`, tmux would otherwise choose the session
 * `workshop` if there is no session `work`.
 */
function exactly(target: string): string {
  if (/^[%@$=]/.test(target)) return target;
  return `=${target}${target.includes(':') ? '' : ':'}`;
}
