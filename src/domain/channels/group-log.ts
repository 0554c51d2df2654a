import { RelayError } from '../../base/errors.ts';
import { toHex } from '../../base/ids.ts';
import { compareAndSet } from '../../kernel/records.ts';
import type { Deps } from '../deps.ts';
import { groupKey, groupStream } from '../names.ts';
import { asJson, fromJson, type RecordsOf, recordsOf } from '../records.ts';
import {
  applySteps,
  fromSnapshot,
  type GroupSnapshot,
  type GroupState,
  newState,
  type Step,
  toSnapshot,
} from './group-state.ts';

/**
 * Number of log entries between two snapshots. A small number makes a group open fast, a large number saves
 * writes.
 */
const SNAPSHOT_EVERY = 128;
const PAGE = 500;

/**
 * Function that returns the steps to append for a state of the group, or throws to reject the proposal. If another
 * process appends first, the function is called again with the new state, and its first steps are discarded.
 */
type Proposal = (state: GroupState, now: number) => readonly Step[];

/**
 * An entry of a group's log. `born` is the id of the group. A group that is removed and created again gets
 * another id.
 */
interface GroupEntry {
  readonly born: string;
  readonly steps: readonly Step[];
}

interface Waiting {
  readonly propose: Proposal;
  resolve(entry: number): void;
  reject(error: unknown): void;
}

/**
 * The log of a group as one process sees it. All waiting proposals go into one log entry, unless two of them concern
 * the same message. The entry is appended only if no other process has appended an entry meanwhile. Otherwise the
 * proposals are called again with the new state. Every process works this way, so only one of two concurrent claims
 * wins.
 */
export class GroupLog {
  readonly tenant: string;
  readonly channel: string;
  readonly group: string;
  readonly #deps: Deps;
  readonly #records: RecordsOf<GroupSnapshot>;
  readonly stream: string;
  readonly #key: string;
  #state: GroupState | null = null;
  #revision = 0;
  /** Number of log entries since the last snapshot. */
  #unsaved = 0;
  #queue: Waiting[] = [];
  /** The last queued work that uses the state. The next work waits for it, so that only one runs at a time. */
  #turn: Promise<unknown> = Promise.resolve();
  #flushing = false;

  constructor(deps: Deps, tenant: string, channel: string, group: string) {
    this.tenant = tenant;
    this.channel = channel;
    this.group = group;
    this.#deps = deps;
    this.#records = recordsOf(deps.engine.records);
    this.stream = groupStream(tenant, channel, group);
    this.#key = groupKey(tenant, channel, group);
  }

  /**
   * Creates the group if it does not exist. The group starts after the sequence that `cursor` returns.
   * Returns whether the group was created.
   */
  async create(cursor: () => Promise<number>): Promise<boolean> {
    if (await this.#records.get(this.#key)) return false;
    const { env } = this.#deps;
    const state = newState(toHex(env.randomBytes(6)), await cursor(), env.now());
    return (await this.#records.put(this.#key, toSnapshot(state), { expect: 'absent' })) !== null;
  }

  /** Returns the state after the newest log entry. Callers must not change the state. */
  state(): Promise<GroupState> {
    return this.#exclusive(() => this.#refresh());
  }

  /**
   * Adds the steps of a proposal to the log. Resolves with the sequence of the log entry, or with 0 if the
   * proposal has no steps.
   */
  propose(propose: Proposal): Promise<number> {
    return new Promise((resolve, reject) => {
      this.#queue.push({ propose, resolve, reject });
      if (this.#flushing) return;
      this.#flushing = true;
      // `#flush` rejects each proposal with its own error, so there is no error to handle here.
      this.#exclusive(() => this.#flush()).catch(() => {});
    });
  }

  /** Ends a claim whose message the member has not seen. The claim is then not counted as an attempt. */
  async free(seq: number, token: number): Promise<void> {
    await this.propose((state) => (state.open.get(seq)?.token === token ? [['free', seq, token]] : []));
  }

  async remove(): Promise<void> {
    const { logs } = this.#deps.engine;
    await this.#exclusive(async () => {
      this.#state = null;
      await logs.drop(this.stream);
      if (!(await this.#records.delete(this.#key))) throw noGroup(this.group, this.channel);
    });
  }

  #exclusive<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#turn.then(work);
    // Ignore the error here: the caller gets it from `result`, and the next work must run regardless.
    this.#turn = result.catch(() => {});
    return result;
  }

  async #flush(): Promise<void> {
    try {
      while (this.#queue.length > 0) {
        const batch = this.#queue;
        this.#queue = [];
        try {
          await this.#commit(batch);
        } catch (error) {
          for (const waiting of batch) waiting.reject(error);
        }
      }
    } finally {
      this.#flushing = false;
    }
  }

  async #commit(batch: readonly Waiting[]): Promise<void> {
    const { logs } = this.#deps.engine;
    let later: Waiting[] = [];
    /** Callbacks that answer the proposals. They are called when the entry is in the log. */
    let answers: ((entry: number) => void)[] = [];
    const entry = await compareAndSet(`the group ${this.group}`, async (round) => {
      const state = round === 0 && this.#state ? this.#state : await this.#refresh();
      [later, answers] = [[], []];
      const steps: Step[] = [];
      let refused = false;
      const touched = new Set<number>();
      for (const waiting of batch) {
        try {
          const proposed = waiting.propose(state, this.#deps.env.now());
          // Each proposal was made for the state before this entry. So if two proposals concern one
          // message, the second one must wait for the next entry.
          if (proposed.some(([, seq]) => touched.has(seq))) {
            later.push(waiting);
            continue;
          }
          for (const [, seq] of proposed) touched.add(seq);
          steps.push(...proposed);
          answers.push((seq) => waiting.resolve(proposed.length > 0 ? seq : 0));
        } catch (error) {
          refused = true;
          answers.push(() => waiting.reject(error));
        }
      }
      // In round 0 the state may be outdated. So a proposal that fails is tried once more on the newest
      // state.
      if (refused && round === 0) return null;
      if (steps.length === 0) return 0;
      const data = asJson<GroupEntry>({ born: state.born, steps });
      const seq = await logs.append(this.stream, data, { expectSeq: state.seq });
      if (seq !== null) applySteps(state, seq, this.#deps.env.now(), steps);
      return seq;
    });
    this.#queue.unshift(...later);
    for (const answer of answers) answer(entry);
    if (entry > 0 && ++this.#unsaved >= SNAPSHOT_EVERY) await this.#save();
  }

  async #refresh(): Promise<GroupState> {
    const { logs } = this.#deps.engine;
    let state = this.#state ?? (await this.#load());
    let confirmed: string | null = null;
    for (;;) {
      const { entries, gap } = await logs.read(this.stream, { after: state.seq, limit: PAGE });
      const foreign = entries.some(({ data }) => fromJson<GroupEntry>(data).born !== state.born);
      if (gap || (foreign && confirmed !== state.born)) {
        // Another process has saved a newer snapshot and trimmed the log, or has removed the group and
        // created it again.
        state = await this.#load();
        confirmed = state.born;
        continue;
      }
      for (const { seq, at, data } of entries) {
        const { born, steps } = fromJson<GroupEntry>(data);
        // Ignore the steps of an entry with another `born`. The process that wrote the entry did not know yet
        // that the group was removed.
        applySteps(state, seq, at, born === state.born ? steps : []);
        this.#unsaved++;
      }
      if (entries.length < PAGE) break;
    }
    const { last } = await logs.info(this.stream);
    // If the log ends before the sequence of the state, the state is outdated: the group was removed and
    // created again, or a removal was interrupted. In both cases the state is loaded from the record.
    if (last < state.seq) {
      state = await this.#load();
      if (last < state.seq) state.seq = last;
    }
    this.#state = state;
    return state;
  }

  async #load(): Promise<GroupState> {
    const stored = await this.#records.get(this.#key);
    if (!stored) {
      this.#state = null;
      throw noGroup(this.group, this.channel);
    }
    this.#revision = stored.revision;
    this.#unsaved = 0;
    return fromSnapshot(stored.value);
  }

  /**
   * Saves a snapshot and trims the log, so that the log does not grow forever. Does nothing if another
   * process has saved a snapshot first.
   */
  async #save(): Promise<void> {
    const { logs } = this.#deps.engine;
    const state = this.#state;
    if (!state) return;
    this.#unsaved = 0;
    const saved = await this.#records.put(this.#key, toSnapshot(state), { expect: this.#revision });
    if (saved === null) {
      this.#revision = (await this.#records.get(this.#key))?.revision ?? 0;
      return;
    }
    this.#revision = saved;
    await logs.trim(this.stream, { before: state.seq });
  }
}

function noGroup(group: string, channel: string): RelayError {
  return new RelayError('not_found', {
    what: `the group ${JSON.stringify(group)} of channel ${JSON.stringify(channel)}`,
    hint: 'A group is created when its first member subscribes.',
  });
}
