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

/** A stored task. Its id is the id of the pointer to its first message. */
export interface TaskRecord {
  readonly id: string;
  readonly context_id: string;
  /** Thread of the conversation. Absent if the context id is the thread id. */
  readonly thread_id?: string;
  readonly agent: string;
  /** Channel to which the task was pushed. Absent in task records of version 0.1.0. */
  readonly task_channel?: string;
  readonly done_channel: string;
  readonly state: State;
  /** Time of the last state change, in ISO 8601. */
  readonly at: string;
  /** Text of the agent that explains the state. */
  readonly note?: string;
  /** Message parts of the agent that explain the state, if there are any. */
  readonly said?: readonly PartRecord[];
  /** Earlier states of the task, oldest first, for streams. */
  readonly steps?: readonly Step[];
  /** The first message. */
  readonly message: JsonObject;
  /** Later messages of the client and of the agent, oldest first. */
  readonly history?: readonly JsonObject[];
  /** Pointer to the client's newest message. Absent until there is a second message. */
  readonly turn?: string;
  /**
   * Hash of the client's newest message, by which a repetition is recognized. Absent in task records of
   * version 0.1.0.
   */
  readonly asked?: string;
  readonly artifact?: ArtifactRecord;
  /** Artifacts of all turns, if the agent answers in A2A parts and not in plain text. */
  readonly artifacts?: readonly AnsweredArtifact[];
  /** Set if the agent answered with a message instead of a task. */
  readonly direct?: true;
  readonly webhooks: readonly Webhook[];
}

/** Identifies one state change of a task. */
export type StateAt = Pick<TaskRecord, 'state' | 'at'>;

/** An earlier state of a task. */
export interface Step extends Pick<TaskRecord, 'state' | 'at' | 'note' | 'said' | 'turn'> {
  /** Number of `artifacts` that the task had in this state. */
  readonly made: number;
}

/** A message part in A2A JSON, or a pointer to a part that is binary or too large. */
export type PartRecord =
  | { readonly part: JsonObject }
  | { readonly pointer: string; readonly size: number; readonly name: string; readonly mime: string };

export interface AnsweredArtifact {
  readonly ref: string;
  readonly name: string;
  readonly description: string;
  readonly parts: readonly PartRecord[];
}

interface ArtifactRecord {
  readonly ref: string;
  readonly name: string;
  readonly mime: string;
  readonly size: number;
  /** The content, if it is a short text. */
  readonly text?: string;
  /** Pointer to the content, if it is not a short text. */
  readonly pointer?: string;
}

export interface Webhook {
  readonly config: TaskPushNotificationConfig;
  /** Protocol version of the request that added the webhook. */
  readonly version: string;
  /**
   * Id of the API key that added the webhook. After the key is revoked, the webhook is not notified. Absent
   * in task records of version 0.1.0.
   */
  readonly key?: string;
  /**
   * Last state of which the webhook was notified. Initially the state that the client knew when it added the webhook.
   * Absent in task records of version 0.1.0.
   */
  readonly knows?: StateAt;
  /**
   * Time in ms since 1970 at which a lease ends. Until then, only its holder may notify the webhook of the
   * task's end.
   */
  readonly telling?: number;
  /** True if the webhook has confirmed the notification of the task's end. */
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

/** Returns whether the task waits for a message from the client. */
export function isWaiting({ state }: TaskRecord): boolean {
  return state === 'input_required' || state === 'auth_required';
}

/** Returns the id of the pointer of the newest message to the agent. */
export function turnOf({ id, turn = id }: TaskRecord): string {
  return turn;
}

export function threadOf({ context_id, thread_id = context_id }: TaskRecord): string {
  return thread_id;
}

/**
 * Returns `next`. If the state of the task has changed, the state of `before` is appended to the earlier states
 * (`steps`).
 */
export function nextStep(before: TaskRecord, next: TaskRecord): TaskRecord {
  const { state, at, note, said, turn, steps = [], artifacts = [] } = before;
  if (next.state === state && next.at === at) return next;
  const noteFields = { ...(note === undefined ? {} : { note }), ...(said ? { said } : {}) };
  const step = { state, at, ...noteFields, ...(turn === undefined ? {} : { turn }), made: artifacts.length };
  return { ...next, steps: [...steps, step].slice(-A2A_STEPS) };
}

/** Yields the task in each state after `last`, ending with the current one. */
export function* stepsSince(last: StateAt, record: TaskRecord): Generator<TaskRecord> {
  const { steps = [] } = record;
  const index = stepIn(record, last);
  for (const step of index < 0 ? [] : steps.slice(index + 1)) yield applyStep(record, step);
  if (record.state !== last.state || record.at !== last.at) yield record;
}

/** Returns the task in an earlier state, or undefined if the record no longer contains that state. */
export function taskAtState(record: TaskRecord, last: StateAt): TaskRecord | undefined {
  const step = record.steps?.[stepIn(record, last)];
  return step && applyStep(record, step);
}

function stepIn({ steps = [] }: TaskRecord, last: StateAt): number {
  return steps.findLastIndex(({ state, at }) => state === last.state && at === last.at);
}

function applyStep(record: TaskRecord, { made: artifactCount, ...step }: Step): TaskRecord {
  const { artifact: _artifact, artifacts = [], note: _note, said: _said, turn: _turn, ...same } = record;
  return { ...same, ...step, artifacts: artifacts.slice(0, artifactCount) };
}

function statusOf(record: TaskRecord, base: string): NonNullable<Task['status']> {
  return { state: STATES[record.state], timestamp: record.at, message: agentMessage(record, base) };
}

function artifactsOf(record: TaskRecord, base: string): Task['artifacts'] {
  const { artifact, artifacts = [] } = record;
  const results = artifacts.map(({ ref, name, description, parts }) => ({
    artifactId: ref,
    name,
    description,
    parts: parts.map((part) => toPart(part, base)),
    metadata: undefined,
    extensions: [],
  }));
  if (!artifact) return results;
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
  return [...results, whole];
}

function toPart(stored: PartRecord, base: string): Part {
  if ('part' in stored) return Part.fromJSON(stored.part);
  const { pointer: id, size, name, mime: mediaType } = stored;
  return pointerPart({ base, id, size, name, mediaType });
}

export function toTask(record: TaskRecord, base: string): Task {
  const { id: taskId, context_id: contextId } = record;
  const messages = [record.message, ...(record.history ?? [])];
  return {
    id: taskId,
    contextId,
    status: statusOf(record, base),
    artifacts: artifactsOf(record, base),
    history: messages.map((message) => ({ ...Message.fromJSON(message), taskId, contextId })),
    metadata: { agent: record.agent },
  };
}

/**
 * Yields the events of a change, for streams and webhooks: first the artifacts that are new since `before`,
 * then the state.
 */
export function* changes(record: TaskRecord, base: string, before?: TaskRecord): Generator<StreamResponse> {
  const about = { taskId: record.id, contextId: record.context_id, metadata: undefined };
  const sentIds = new Set(before ? artifactsOf(before, base).map(({ artifactId }) => artifactId) : []);
  for (const artifact of artifactsOf(record, base)) {
    if (sentIds.has(artifact.artifactId)) continue;
    const value = { ...about, artifact, append: false, lastChunk: true };
    yield { payload: { $case: 'artifactUpdate', value } };
  }
  yield { payload: { $case: 'statusUpdate', value: { ...about, status: statusOf(record, base) } } };
}

/** Returns the message of the agent that explains the state, or undefined if there is none. */
export function agentMessage(record: TaskRecord, base: string): Message | undefined {
  const { note, said: parts } = record;
  if (parts === undefined && note === undefined) return undefined;
  return {
    messageId: `${turnOf(record)}-${record.state}`,
    contextId: record.context_id,
    taskId: record.direct ? '' : record.id,
    role: Role.ROLE_AGENT,
    parts: parts ? parts.map((part) => toPart(part, base)) : [textPart(note!)],
    metadata: undefined,
    extensions: [],
    referenceTaskIds: [],
  };
}
