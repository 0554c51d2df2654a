import { RelayError } from '../../base/errors.ts';
import { GROUP_ACKS_KEPT } from '../../base/limits.ts';

/** A wait is longer by up to this share, so that work that failed together does not return together. */
const JITTER = 0.2;

/** A step of a group's log; an entry has several. The sequence of the entry with a `claim` is the token of that claim. */
export type Step =
  | readonly ['claim', seq: number, until: number, member: string, by: string]
  | readonly ['ack', seq: number, token: number]
  | readonly ['nack', seq: number, token: number, again: number]
  | readonly ['extend', seq: number, token: number, until: number]
  /** Returned before it was delivered: it does not count as an attempt. */
  | readonly ['free', seq: number, token: number]
  /** The message is now a dead letter. */
  | readonly ['dead', seq: number]
  /** Taken from the dead letters: its attempts start again at 0. */
  | readonly ['revive', seq: number]
  /** Waits before failed work returns; null for the relay's own. It concerns no message. */
  | readonly ['retry', 0, waits: readonly number[] | null];

export interface Work {
  /** Token of the newest claim. */
  token: number;
  attempt: number;
  /** When the lease ends; 0 once it was returned. */
  until: number;
  /** Not handed out again before this time; 0 for no wait. */
  again: number;
  member: string;
  by: string;
}

/** The fold of a group's log. */
export interface GroupState {
  /** Id of this incarnation of the group and its entries. A recreated group has another id. */
  readonly born: string;
  /** The newest log entry included. */
  seq: number;
  /** All messages up to here have been claimed at least once or are settled. */
  cursor: number;
  /** Claimed and unsettled messages, by sequence. */
  readonly open: Map<number, Work>;
  /** The newest acknowledgements: message → token. */
  readonly acked: Map<number, number>;
  /** Waits before failed work returns, if the group chose its own. */
  retry: readonly number[] | null;
  /** Time of the last activity. */
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
      const [, , until, member, by] = step;
      state.open.set(seq, { token: entry, attempt: (work?.attempt ?? 0) + 1, until, again: 0, member, by });
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
      // Entries of 0.1.0 have no time.
      work.again = step[3] ?? 0;
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
 * Returns the work that a token is valid for. An expired lease still belongs to its member until someone else claims
 * the message.
 */
export function heldWork(state: GroupState, seq: number, token: number): Work {
  const work = state.open.get(seq);
  if (work && work.token === token && work.until > 0) return work;
  throw new RelayError('conflict', {
    what: `The token ${token} is not valid for message ${seq}: ${whyNot(state, seq, work)}.`,
    hint: 'Stop this work. The message is already settled, or another member has it.',
  });
}

function whyNot(state: GroupState, seq: number, work: Work | undefined): string {
  if (work && work.until === 0) return 'the work was given back';
  if (work) return 'the lease ended, and another member got the work';
  return seq <= state.cursor ? 'the message is already settled' : 'no member has claimed the message yet';
}

/** Returns the lowest unsettled sequence: all messages below it are settled. */
export function floor(state: GroupState): number {
  return Math.min(state.cursor + 1, ...state.open.keys());
}

/** Returns whether a message is unsettled and nobody holds it: it is new to the group or was returned. */
export function isUnclaimed(state: GroupState, seq: number, now: number): boolean {
  const work = state.open.get(seq);
  return work ? work.until <= now : seq > state.cursor;
}

/** Returns the messages that can be handed out again, oldest first. */
export function returned(state: GroupState, now: number): number[] {
  const free = [...state.open].filter(([, work]) => due(work) <= now);
  return free.map(([seq]) => seq).sort((a, b) => a - b);
}

/** Returns how long work waits after this many failures, in ms; `chance` is between 0 and 1. */
export function waitBefore(waits: readonly number[], attempt: number, chance: number): number {
  const wait = waits[Math.min(attempt, waits.length) - 1] ?? 0;
  return Math.round(wait * (1 + chance * JITTER));
}

/** Returns when the next lease or wait ends; null if there is none. */
export function nextDue(state: GroupState, now: number): number | null {
  const ends = Array.from(state.open.values(), due).filter((at) => at > now);
  return ends.length > 0 ? Math.min(...ends) : null;
}

/** Returns when it can be handed out again. */
function due({ until, again }: Work): number {
  return Math.max(until, again);
}

/** A state as it is stored. Compact, because it is one record however long the group exists. */
export interface GroupSnapshot extends Pick<GroupState, 'born' | 'seq' | 'cursor' | 'active'> {
  readonly open: (readonly [
    seq: number,
    token: number,
    attempt: number,
    until: number,
    member: string,
    by: string,
    again?: number,
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
    open: Array.from(state.open, ([seq, w]) => [seq, w.token, w.attempt, w.until, w.member, w.by, w.again]),
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
      open.map(([s, token, attempt, until, member, by, again = 0]) => [
        s,
        { token, attempt, until, again, member, by },
      ]),
    ),
    acked: new Map(acked),
    retry,
  };
}

export function newState(born: string, cursor: number, now: number): GroupState {
  return { born, seq: 0, cursor, open: new Map(), acked: new Map(), retry: null, active: now };
}
