import { TASK_INLINE_BYTES } from '../../base/limits.ts';
import { pause } from '../../base/pause.ts';
import { encodeUtf8 } from '../../base/utf8.ts';
import { readOutcome } from '../../client/bridge/outcome.ts';
import type { Job, Ran, Runner } from '../../client/bridge/runner.ts';
import type { TmuxOptions } from '../../client/bridge/runners.ts';
import { type AgentProfile, findAgent, type KnownAgent, knownAgent, PROFILES } from './profiles.ts';
import { count, markOf, outputBehind, squeezed } from './screen.ts';
import { gone, type Pane, Tmux } from './tmux.ts';

const LOOK_EVERY_MS = 150;
/** A screen that has not moved for this long takes input. */
const STILL_MS = 500;
/** A program that shows nothing may be one that is still starting. */
const BLANK_MS = 2_000;
/** For a paste to show. */
const LAND_MS = 8_000;
/** For Enter to show. Programs take what comes too fast behind a paste for a part of it. */
const BEFORE_ENTER_MS = 150;
const ENTER_MS = 2_000;
const ENTERS = 4;

/** Everything but line breaks and tabs: inside of a paste it could end the paste, and the rest would be keys. */
const CONTROL = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/;

const SHELL = /^-?(?:ba|z|da|k|fi)?sh$/;

/** An agent that somebody has started in a terminal, and may be looking at. */
export class TmuxRunner implements Runner {
  readonly kind = 'tmux';
  readonly target: string;
  readonly slots = 1;
  readonly #tmux: Tmux;
  readonly #profiles: { readonly [name: string]: AgentProfile };
  readonly #profile: string | undefined;
  #agent: KnownAgent = knownAgent('other', {});
  /** The program that it was known as. */
  #command = '';

  constructor(o: TmuxOptions) {
    this.target = o.window === undefined ? o.session : `${o.session}:${o.window}`;
    this.#tmux = new Tmux(o.tmuxArgs);
    this.#profiles = { ...PROFILES, ...(o.profiles as { [name: string]: AgentProfile } | undefined) };
    this.#profile = o.profile;
    if (o.profile !== undefined && !this.#profiles[o.profile]) {
      const names = Object.keys(this.#profiles).join(', ');
      throw gone(`there is no profile ${JSON.stringify(o.profile)}; there are ${names}.`);
    }
  }

  async open(): Promise<void> {
    await this.#look();
  }

  inline(text: string): boolean {
    return this.#agent.multiline && !CONTROL.test(text) && encodeUtf8(text).byteLength <= TASK_INLINE_BYTES;
  }

  async run(job: Job): Promise<Ran> {
    const pane = await this.#look();
    const over = AbortSignal.any([job.signal, job.settled]);
    if (pane.inMode) await this.#tmux.leaveMode(pane.id);
    await this.#untilReady(pane.id, over);
    // Who it is may have shown only now.
    const { name } = this.#agent;
    await this.#look();
    if (this.#agent.name !== name) await this.#untilReady(pane.id, over);
    const shown = async () => ({
      view: await this.#tmux.capture(pane.id),
      all: await this.#tmux.capture(pane.id, { all: true }),
    });
    const before = await shown();
    const said = async () => outputBehind(await shown(), job.prompt, before);
    await this.#putIn(pane.id, job, over);
    // What a program shows below its input, such as a frame, is no answer.
    const idle = await said();
    if (over.aborted) return { output: '' };
    await this.#enter(pane.id, over);
    const output = await this.#untilDone(pane.id, said, over);
    if (job.signal.aborted) await this.#interrupt(pane).catch(() => {});
    if (over.aborted || squeezed(output) !== squeezed(idle)) return { output };
    const seconds = this.#agent.quietMs / 1000;
    return {
      output: '',
      failed: `The agent in ${this.target} said nothing: its screen rested for ${seconds} s.`,
    };
  }

  async close(): Promise<void> {}

  /** Which pane, and who is in it: agents come and go while the bridge stays. */
  async #look(): Promise<Pane> {
    const pane = await this.#tmux.pane(exactly(this.target));
    if (pane.dead) throw gone(`the program in ${this.target} has ended.`);
    const screen = await this.#tmux.capture(pane.id);
    if (this.#profile !== undefined) {
      this.#agent = knownAgent(this.#profile, this.#profiles[this.#profile]!);
      return pane;
    }
    const found = findAgent(this.#profiles, { command: pane.command, screen });
    // What it was known by may have scrolled out of view since.
    if (found.name !== 'other' || pane.command !== this.#command) this.#agent = found;
    this.#command = pane.command;
    return pane;
  }

  /** Slow starts and whatever else it is at: until the screen rests, and for as long as the job has time. */
  async #untilReady(pane: string, over: AbortSignal): Promise<void> {
    const { isBusy, isReady } = this.#agent;
    await this.#watch(pane, over, (screen, still) => {
      const enough = screen.trim() === '' ? BLANK_MS : STILL_MS;
      return still >= enough && !isBusy(screen) && isReady(screen);
    });
  }

  /** Only when it shows was it taken. A paste that leaves no trace is tried once more, never twice over. */
  async #putIn(pane: string, { id, prompt }: Job, over: AbortSignal): Promise<void> {
    const mark = markOf(prompt);
    for (let attempt = 1; !over.aborted; attempt++) {
      const before = await this.#tmux.capture(pane);
      const [marks, pastes] = [count(before, mark), this.#agent.pastes(before)];
      await this.#tmux.paste(pane, prompt, `relay-${id}`);
      let last = before;
      const landed = (screen: string) => {
        last = screen;
        return count(screen, mark) > marks || this.#agent.pastes(screen) !== pastes;
      };
      if (await this.#watch(pane, over, landed, LAND_MS)) return;
      if (attempt === 2 || last !== before) {
        throw gone(`the task was pasted into ${this.target} and did not show there.`);
      }
    }
  }

  async #enter(pane: string, over: AbortSignal): Promise<void> {
    await pause(BEFORE_ENTER_MS, over);
    const shown = async () => `${(await this.#tmux.pane(pane)).cursor} ${await this.#tmux.capture(pane)}`;
    const before = await shown();
    for (let attempt = 0; attempt < ENTERS && !over.aborted; attempt++) {
      await this.#tmux.key(pane, 'Enter');
      await pause(LOOK_EVERY_MS, over);
      if (await this.#watch(pane, over, async () => (await shown()) !== before, ENTER_MS)) return;
    }
    if (!over.aborted) throw gone(`${this.target} did not react to Enter.`);
  }

  /** Until it rests with an outcome, or has rested for long without one, or the result came by another way. */
  async #untilDone(pane: string, said: () => Promise<string>, over: AbortSignal): Promise<string> {
    const { settleMs, quietMs, isBusy } = this.#agent;
    await this.#watch(pane, over, async (screen, still) => {
      const { dead } = await this.#tmux.pane(pane);
      if (dead) throw gone(`the program in ${this.target} ended in the middle of the task.`);
      if (still < settleMs || isBusy(screen)) return false;
      return still >= quietMs || readOutcome(await said()).found;
    });
    return said();
  }

  /**
   * Stops the work of our task and nothing else: an agent that is known, while it shows that it is at work, or what a shell runs that
   * ran nothing when the task was put in. A program that is not known could end with the key, and its session with it.
   */
  async #interrupt(pane: Pane): Promise<void> {
    const now = await this.#tmux.pane(pane.id);
    const { interrupt, mayBeBusy } = this.#agent;
    if (now.dead) return;
    if (now.command !== pane.command) {
      if (SHELL.test(pane.command)) await this.#tmux.key(pane.id, 'C-c');
    } else if (interrupt !== null && mayBeBusy(await this.#tmux.capture(pane.id))) {
      await this.#tmux.key(pane.id, interrupt);
    }
  }

  /**
   * Looks at the screen again and again, with how long it has not changed, until `seen` says so. False where that never
   * was, in time or before the job was over.
   */
  async #watch(
    pane: string,
    over: AbortSignal,
    seen: (screen: string, still: number) => boolean | Promise<boolean>,
    withinMs = Number.POSITIVE_INFINITY,
  ): Promise<boolean> {
    const began = Date.now();
    let last: string | null = null;
    let since = began;
    while (!over.aborted && Date.now() - began < withinMs) {
      const screen = await this.#tmux.capture(pane);
      if (screen !== last) since = Date.now();
      last = screen;
      if (await seen(screen, Date.now() - since)) return true;
      await pause(LOOK_EVERY_MS, over);
    }
    return false;
  }
}

/** A session by its whole name: tmux would take `work` for `workshop` where there is no `work`. */
function exactly(target: string): string {
  if (/^[%@$=]/.test(target)) return target;
  return `=${target}${target.includes(':') ? '' : ':'}`;
}
