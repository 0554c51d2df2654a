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

/** Log entries between two snapshots: few to read when a group is opened, and few extra writes. */
const SNAPSHOT_EVERY = 128;
const PAGE = 500;

/**
 * Decides steps against the current state, or throws to reject. It is called again whenever the state has changed
 * meanwhile; its last result counts.
 */
type Proposal = (state: GroupState, now: number) => readonly Step[];

/** An entry of the log. `born` identifies the incarnation of the group. */
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
 * The log of a group as one process sees it. All waiting proposals go into one entry, which is appended only if nobody
 * else appended meanwhile; otherwise they are decided again. Other processes do the same, so of two racing claims one
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
  /** Entries since the last snapshot. */
  #unsaved = 0;
  #queue: Waiting[] = [];
  /** Serializes everything that uses the state. */
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

  /** Creates the group if it does not exist, starting after `cursor`. Returns whether it was created. */
  async create(cursor: () => Promise<number>): Promise<boolean> {
    if (await this.#records.get(this.#key)) return false;
    const { env } = this.#deps;
    const state = newState(toHex(env.randomBytes(6)), await cursor(), env.now());
    return (await this.#records.put(this.#key, toSnapshot(state), { expect: 'absent' })) !== null;
  }

  /** Returns the state as of the newest log entry. Callers must not change it. */
  state(): Promise<GroupState> {
    return this.#exclusive(() => this.#refresh());
  }

  /** Returns the sequence of the entry when it is in the log; 0 if there were no steps. */
  propose(propose: Proposal): Promise<number> {
    return new Promise((resolve, reject) => {
      this.#queue.push({ propose, resolve, reject });
      if (this.#flushing) return;
      this.#flushing = true;
      // Each proposal in the queue is rejected with its own error.
      this.#exclusive(() => this.#flush()).catch(() => {});
    });
  }

  /** Returns a claim before its member saw the message. It does not count as an attempt. */
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
    // The caller gets the failure from `result`; the next turn must run regardless.
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
    /** Callbacks of the other proposals, called when the entry is in the log. */
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
          // Proposals do not know each other, so two in one entry must not concern the same message.
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
      // Reject only against the newest state.
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
        // Another process made a later snapshot and trimmed the log before it, or removed and recreated the group.
        state = await this.#load();
        confirmed = state.born;
        continue;
      }
      for (const { seq, at, data } of entries) {
        const { born, steps } = fromJson<GroupEntry>(data);
        // Ignore an append of a process that did not know yet that the group was removed.
        applySteps(state, seq, at, born === state.born ? steps : []);
        this.#unsaved++;
      }
      if (entries.length < PAGE) break;
    }
    const { last } = await logs.info(this.stream);
    // The group was removed and recreated, or a removal stopped half-way: use the record.
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
   * Saves a snapshot and trims the log, so that it does not grow with the group's history. Losing the race does no
   * harm.
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
