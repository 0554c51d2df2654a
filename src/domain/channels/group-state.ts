import { RelayError } from '../../base/errors.ts';
import { GROUP_ACKS_KEPT } from '../../base/limits.ts';

/**
 * Maximum share by which a wait is extended at random, so that messages that failed at the same time are retried at
 * different times.
 */
const JITTER = 0.2;

/**
 * A step of a group's log. A log entry contains one or more steps. The token of a claim is the sequence of
 * the log entry that contains the `claim` step.
 */
export type Step =
  | readonly ['claim', seq: number, until: number, member: string, by: string, agent?: string]
  | readonly ['ack', seq: number, token: number]
  | readonly ['nack', seq: number, token: number, again: number, why?: string]
  | readonly ['extend', seq: number, token: number, until: number]
  /** The claim ended before the member got the message. The claim is not counted as an attempt. */
  | readonly ['free', seq: number, token: number]
  /** The message is now a dead letter. */
  | readonly ['dead', seq: number]
  /** The message was taken from the dead letters. Its attempts start again at 0. */
  | readonly ['revive', seq: number]
  /**
   * Sets the waits in ms before failed work is handed out again. Null stands for the waits in the relay's
   * settings. The step concerns no message, so its sequence is 0.
   */
  | readonly ['retry', 0, waits: readonly number[] | null];

export interface Work {
  /** Token of the newest claim. */
  token: number;
  attempt: number;
  /**
   * Time in ms when the lease ends; 0 if a member has given the message back or a dead letter was revived.
   */
  until: number;
  /** Time in ms before which the message is not handed out again; 0 for no wait. */
  again: number;
  member: string;
  by: string;
  agent?: string;
  /** Reason that the last member gave when it returned the message to the group. */
  why?: string;
}

/** State of a group. It is computed from the group's log. */
export interface GroupState {
  /** Id of the group. Each of its log entries contains it. A group that is removed and created again gets another id. */
  readonly born: string;
  /** Sequence of the newest log entry that this state includes. */
  seq: number;
  /** Sequence up to which all messages have been claimed at least once or are settled. */
  cursor: number;
  /** Messages that were claimed or revived and are not settled, by sequence. */
  readonly open: Map<number, Work>;
  /** The newest acknowledgements: sequence of the message → token of the claim. */
  readonly acked: Map<number, number>;
  /** Waits in ms before failed work is handed out again. Null if the group uses the relay's settings. */
  retry: readonly number[] | null;
  /** Time of the last activity in ms. */
  active: number;
}

export function applySteps(state: GroupState, seq: number, at: number, steps: readonly Step[]): void {
  for (const step of steps) applyStep(state, seq, step);
  state.seq = seq;
  state.active = Math.max(state.active, at);
}

function applyStep(state: GroupState, entry: number, step: Step): void {
  const seq = step[1];
  const work = state.open.get(seq);
  switch (step[0]) {
    case 'claim': {
      const [, , until, member, by, agent] = step;
      const attempt = (work?.attempt ?? 0) + 1;
      state.open.set(seq, { token: entry, attempt, until, again: 0, member, by, agent });
      state.cursor = Math.max(state.cursor, seq);
      return;
    }
    case 'ack':
      state.open.delete(seq);
      state.acked.set(seq, step[2]);
      if (state.acked.size > GROUP_ACKS_KEPT) state.acked.delete(state.acked.keys().next().value!);
      return;
    case 'nack':
      if (!work) return;
      work.until = 0;
      // In entries of version 0.1.0, this step contains no time.
      work.again = step[3] ?? 0;
      work.why = step[4];
      return;
    case 'extend':
      if (work) work.until = step[3];
      return;
    case 'free':
      if (!work) return;
      work.until = 0;
      work.attempt--;
      return;
    case 'dead':
      state.open.delete(seq);
      state.cursor = Math.max(state.cursor, seq);
      return;
    case 'revive':
      if (!work) state.open.set(seq, { token: entry, attempt: 0, until: 0, again: 0, member: '', by: '' });
      return;
    case 'retry':
      state.retry = step[2];
  }
}

/**
 * Returns the work for which a token is valid. After the lease has expired, the token stays valid until
 * another member claims the message.
 */
export function heldWork(state: GroupState, seq: number, token: number): Work {
  const work = state.open.get(seq);
  if (work && work.token === token && work.until > 0) return work;
  throw new RelayError('conflict', {
    what: `The lease token ${token} is not valid for message ${seq}: ${whyNot(state, seq, work)}.`,
    hint: 'Stop working on the message: you do not hold it.',
  });
}

function whyNot(state: GroupState, seq: number, work: Work | undefined): string {
  if (work && work.until === 0) return 'the message was returned to the queue';
  if (work) return 'the message is leased with another token';
  return seq <= state.cursor
    ? 'the message is already acknowledged or a dead letter'
    : 'no member has claimed the message yet';
}

/** Returns the lowest sequence that is not settled. */
export function floor(state: GroupState): number {
  return Math.min(state.cursor + 1, ...state.open.keys());
}

/**
 * Returns whether a message is not settled and no member holds it now: it is new to the group, was given back or
 * revived, or its lease has expired.
 */
export function isUnclaimed(state: GroupState, seq: number, now: number): boolean {
  const work = state.open.get(seq);
  return work ? work.until <= now : seq > state.cursor;
}

/** Returns the sequences of the messages in `open` that can be handed out again now, oldest first. */
export function returned(state: GroupState, now: number): number[] {
  const free = [...state.open].filter(([, work]) => due(work) <= now);
  return free.map(([seq]) => seq).sort((a, b) => a - b);
}

/**
 * Returns how long a message waits after its attempt number `attempt` has failed, in ms. `chance` is a random
 * number from 0 to 1.
 */
export function waitBefore(waits: readonly number[], attempt: number, chance: number): number {
  const wait = waits[Math.min(attempt, waits.length) - 1] ?? 0;
  return Math.round(wait * (1 + chance * JITTER));
}

/** Returns the time in ms when the next lease or wait ends; null if there is none. */
export function nextDue(state: GroupState, now: number): number | null {
  const ends = Array.from(state.open.values(), due).filter((at) => at > now);
  return ends.length > 0 ? Math.min(...ends) : null;
}

/**
 * Returns the time in ms from which the message can be handed out again: when both its lease and its wait have ended.
 */
function due({ until, again }: Work): number {
  return Math.max(until, again);
}

/** Stored form of a group's state. It is compact, because one record must hold the whole state. */
export interface GroupSnapshot extends Pick<GroupState, 'born' | 'seq' | 'cursor' | 'active'> {
  readonly open: (readonly [
    seq: number,
    token: number,
    attempt: number,
    until: number,
    member: string,
    by: string,
    again?: number,
    agent?: string,
    why?: string,
  ])[];
  readonly acked: [seq: number, token: number][];
  readonly retry?: readonly number[] | null;
}

export function toSnapshot(state: GroupState): GroupSnapshot {
  return {
    born: state.born,
    seq: state.seq,
    cursor: state.cursor,
    active: state.active,
    open: Array.from(state.open, ([seq, w]) => {
      const work = [seq, w.token, w.attempt, w.until, w.member, w.by, w.again] as const;
      if (w.why !== undefined) return [...work, w.agent ?? '', w.why];
      return w.agent === undefined ? work : [...work, w.agent];
    }),
    acked: Array.from(state.acked),
    ...(state.retry ? { retry: state.retry } : {}),
  };
}

export function fromSnapshot(snapshot: GroupSnapshot): GroupState {
  const { born, seq, cursor, active, open, acked, retry = null } = snapshot;
  return {
    born,
    seq,
    cursor,
    active,
    open: new Map(
      open.map(([s, token, attempt, until, member, by, again = 0, agent, why]) => [
        s,
        { token, attempt, until, again, member, by, agent: agent || undefined, why },
      ]),
    ),
    acked: new Map(acked),
    retry,
  };
}

export function newState(born: string, cursor: number, now: number): GroupState {
  return { born, seq: 0, cursor, open: new Map(), acked: new Map(), retry: null, active: now };
}
