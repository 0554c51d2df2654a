import {
  Message,
  Part,
  Role,
  type StreamResponse,
  type Task,
  type TaskPushNotificationConfig,
  TaskState,
} from '@a2a-js/sdk';
import type { JsonObject } from '../../base/json.ts';
import { A2A_STEPS } from '../../base/limits.ts';
import type { AnswerState } from '../../client/bridge/answer.ts';
import { pointerPart, textPart } from './messages.ts';

export type State = 'submitted' | 'working' | 'canceled' | AnswerState;

/** A task as it is kept. Its id is that of the pointer that was put on the channel first, its context is a thread. */
export interface TaskRecord {
  readonly id: string;
  readonly context_id: string;
  /** The thread of the context, where the client made up a name of its own for the context. */
  readonly thread_id?: string;
  readonly agent: string;
  /** Where the task was put; absent in records made by 0.1.0. */
  readonly task_channel?: string;
  readonly done_channel: string;
  readonly state: State;
  /** ISO 8601. */
  readonly at: string;
  /** What there is to say about the state. */
  readonly note?: string;
  /** The same in parts, where the agent said it in parts. */
  readonly said?: readonly PartRecord[];
  /** What the state was before, oldest first: every stream tells of each. */
  readonly steps?: readonly Step[];
  /** The first message. */
  readonly message: JsonObject;
  /** Those after the first, of both sides, oldest first. */
  readonly history?: readonly JsonObject[];
  /** The pointer that the agent was given last, where it is not the first: each message of the client is one. */
  readonly turn?: string;
  /** Digest of the client's newest message, by which the same again is known; absent in records made by 0.1.0. */
  readonly asked?: string;
  readonly artifact?: ArtifactRecord;
  /** What an agent that answers in parts has made, in all turns. */
  readonly artifacts?: readonly AnsweredArtifact[];
  /** The agent answered with a message in place of a task. */
  readonly direct?: true;
  readonly webhooks: readonly Webhook[];
}

/** Tells one state of a task from another, and from the same at another time. */
export type StateAt = Pick<TaskRecord, 'state' | 'at'>;

/** A state that a task was in. */
export interface Step extends Pick<TaskRecord, 'state' | 'at' | 'note' | 'said' | 'turn'> {
  /** How many of the `artifacts` there were. */
  readonly made: number;
}

/** A part in the protocol's JSON, or the pointer to what was too large or no text. */
export type PartRecord =
  | { readonly part: JsonObject }
  | { readonly pointer: string; readonly size: number; readonly name: string; readonly mime: string };

export interface AnsweredArtifact {
  readonly ref: string;
  readonly name: string;
  readonly description: string;
  readonly parts: readonly PartRecord[];
}

export interface ArtifactRecord {
  readonly ref: string;
  readonly name: string;
  readonly mime: string;
  readonly size: number;
  /** The content, where it is small text. */
  readonly text?: string;
  /** The pointer to it, where it is not. */
  readonly pointer?: string;
}

export interface Webhook {
  readonly config: TaskPushNotificationConfig;
  /** The version of the protocol that it was asked for in. */
  readonly version: string;
  /** The key that named it, and with which it ends; absent in records made by 0.1.0. */
  readonly key?: string;
  /** The last state before the end that it was told of, or that whoever named it knew; absent in records made by 0.1.0. */
  readonly knows?: StateAt;
  /** Somebody tells it how the task ended, until then at most; in ms. */
  readonly telling?: number;
  /** It has answered when it was told how the task ended. */
  readonly told?: boolean;
}

export const STATES: Readonly<Record<State, TaskState>> = {
  submitted: TaskState.TASK_STATE_SUBMITTED,
  working: TaskState.TASK_STATE_WORKING,
  input_required: TaskState.TASK_STATE_INPUT_REQUIRED,
  auth_required: TaskState.TASK_STATE_AUTH_REQUIRED,
  completed: TaskState.TASK_STATE_COMPLETED,
  failed: TaskState.TASK_STATE_FAILED,
  rejected: TaskState.TASK_STATE_REJECTED,
  canceled: TaskState.TASK_STATE_CANCELED,
};

export function isOver({ state }: TaskRecord): boolean {
  return state === 'completed' || state === 'failed' || state === 'canceled' || state === 'rejected';
}

/** Nothing goes on until the client says something. */
export function isWaiting({ state }: TaskRecord): boolean {
  return state === 'input_required' || state === 'auth_required';
}

/** The pointer that the agent was given last. */
export function turnOf({ id, turn = id }: TaskRecord): string {
  return turn;
}

export function threadOf({ context_id, thread_id = context_id }: TaskRecord): string {
  return thread_id;
}

/** The record that comes after another of the same task. */
export function nextStep(before: TaskRecord, next: TaskRecord): TaskRecord {
  const { state, at, note, said, turn, steps = [], artifacts = [] } = before;
  if (next.state === state && next.at === at) return next;
  const words = { ...(note === undefined ? {} : { note }), ...(said ? { said } : {}) };
  const step = { state, at, ...words, ...(turn === undefined ? {} : { turn }), made: artifacts.length };
  return { ...next, steps: [...steps, step].slice(-A2A_STEPS) };
}

/** The task as it was in each state that it has been in since it was `last`, and as it is. */
export function* stepsSince(last: StateAt, record: TaskRecord): Generator<TaskRecord> {
  const { steps = [] } = record;
  const known = stepIn(record, last);
  for (const step of known < 0 ? [] : steps.slice(known + 1)) yield asIn(record, step);
  if (record.state !== last.state || record.at !== last.at) yield record;
}

/** The task as it was in a state before; undefined where it does not remember. */
export function asItWas(record: TaskRecord, last: StateAt): TaskRecord | undefined {
  const step = record.steps?.[stepIn(record, last)];
  return step && asIn(record, step);
}

function stepIn({ steps = [] }: TaskRecord, last: StateAt): number {
  return steps.findLastIndex(({ state, at }) => state === last.state && at === last.at);
}

function asIn(record: TaskRecord, { made, ...step }: Step): TaskRecord {
  const { artifact: _artifact, artifacts = [], note: _note, said: _said, turn: _turn, ...same } = record;
  return { ...same, ...step, artifacts: artifacts.slice(0, made) };
}

function statusOf(record: TaskRecord, base: string): NonNullable<Task['status']> {
  return { state: STATES[record.state], timestamp: record.at, message: agentMessage(record, base) };
}

function artifactsOf(record: TaskRecord, base: string): Task['artifacts'] {
  const { artifact, artifacts = [] } = record;
  const made = artifacts.map(({ ref, name, description, parts }) => ({
    artifactId: ref,
    name,
    description,
    parts: parts.map((part) => shownPart(part, base)),
    metadata: undefined,
    extensions: [],
  }));
  if (!artifact) return made;
  const { ref, name, mime, size, text, pointer } = artifact;
  const part =
    text === undefined
      ? pointerPart({ base, id: pointer!, size, name, mediaType: mime })
      : textPart(text, mime);
  const whole = {
    artifactId: ref,
    name,
    description: '',
    parts: [part],
    metadata: undefined,
    extensions: [],
  };
  return [...made, whole];
}

function shownPart(kept: PartRecord, base: string): Part {
  if ('part' in kept) return Part.fromJSON(kept.part);
  const { pointer: id, size, name, mime: mediaType } = kept;
  return pointerPart({ base, id, size, name, mediaType });
}

export function toTask(record: TaskRecord, base: string): Task {
  const { id: taskId, context_id: contextId } = record;
  const said = [record.message, ...(record.history ?? [])];
  return {
    id: taskId,
    contextId,
    status: statusOf(record, base),
    artifacts: artifactsOf(record, base),
    history: said.map((message) => ({ ...Message.fromJSON(message), taskId, contextId })),
    metadata: { agent: record.agent },
  };
}

/** What a stream or a webhook is told of a change: artifacts that were not there `before`, then the state. */
export function* changes(record: TaskRecord, base: string, before?: TaskRecord): Generator<StreamResponse> {
  const about = { taskId: record.id, contextId: record.context_id, metadata: undefined };
  const known = new Set(before ? artifactsOf(before, base).map(({ artifactId }) => artifactId) : []);
  for (const artifact of artifactsOf(record, base)) {
    if (known.has(artifact.artifactId)) continue;
    const value = { ...about, artifact, append: false, lastChunk: true };
    yield { payload: { $case: 'artifactUpdate', value } };
  }
  yield { payload: { $case: 'statusUpdate', value: { ...about, status: statusOf(record, base) } } };
}

/** What the agent said with the state; undefined where it said nothing. */
export function agentMessage(record: TaskRecord, base: string): Message | undefined {
  const { note, said } = record;
  if (said === undefined && note === undefined) return undefined;
  return {
    messageId: `${turnOf(record)}-${record.state}`,
    contextId: record.context_id,
    taskId: record.direct ? '' : record.id,
    role: Role.ROLE_AGENT,
    parts: said ? said.map((part) => shownPart(part, base)) : [textPart(note!)],
    metadata: undefined,
    extensions: [],
    referenceTaskIds: [],
  };
}
