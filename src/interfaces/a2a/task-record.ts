import {
  Message,
  Role,
  type StreamResponse,
  type Task,
  type TaskPushNotificationConfig,
  TaskState,
} from '@a2a-js/sdk';
import type { JsonObject } from '../../base/json.ts';
import { pointerPart, textPart } from './parts.ts';

export type State = 'submitted' | 'working' | 'completed' | 'failed' | 'canceled';

/** A task as it is kept. Its id is the pointer's that was put on the channel, its context is a thread. */
export interface TaskRecord {
  readonly id: string;
  readonly context_id: string;
  readonly agent: string;
  /** Where the task was put; absent in records made by 0.1.0. */
  readonly task_channel?: string;
  readonly done_channel: string;
  readonly state: State;
  /** ISO 8601. */
  readonly at: string;
  /** What there is to say about the state. */
  readonly note?: string;
  readonly message: JsonObject;
  readonly artifact?: ArtifactRecord;
  readonly webhooks: readonly Webhook[];
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
  /** It has answered when it was told how the task ended. */
  readonly told?: true;
}

export const STATES: Readonly<Record<State, TaskState>> = {
  submitted: TaskState.TASK_STATE_SUBMITTED,
  working: TaskState.TASK_STATE_WORKING,
  completed: TaskState.TASK_STATE_COMPLETED,
  failed: TaskState.TASK_STATE_FAILED,
  canceled: TaskState.TASK_STATE_CANCELED,
};

export function isOver({ state }: TaskRecord): boolean {
  return state === 'completed' || state === 'failed' || state === 'canceled';
}

function statusOf(record: TaskRecord): NonNullable<Task['status']> {
  return {
    state: STATES[record.state],
    timestamp: record.at,
    message: record.note === undefined ? undefined : agentMessage(record, record.note),
  };
}

function artifactOf(record: TaskRecord, base: string): Task['artifacts'][number] | null {
  const { artifact } = record;
  if (!artifact) return null;
  const { ref, name, mime, size, text, pointer } = artifact;
  const part =
    text === undefined
      ? pointerPart({ base, id: pointer!, size, name, mediaType: mime })
      : textPart(text, mime);
  return { artifactId: ref, name, description: '', parts: [part], metadata: undefined, extensions: [] };
}

export function toTask(record: TaskRecord, base: string): Task {
  const artifact = artifactOf(record, base);
  return {
    id: record.id,
    contextId: record.context_id,
    status: statusOf(record),
    artifacts: artifact ? [artifact] : [],
    history: [{ ...Message.fromJSON(record.message), taskId: record.id, contextId: record.context_id }],
    metadata: { agent: record.agent },
  };
}

/** What a stream or a webhook is told of a change: the artifact first, then that it is done. */
export function* changes(record: TaskRecord, base: string): Generator<StreamResponse> {
  const about = { taskId: record.id, contextId: record.context_id, metadata: undefined };
  const artifact = artifactOf(record, base);
  if (artifact) {
    const value = { ...about, artifact, append: false, lastChunk: true };
    yield { payload: { $case: 'artifactUpdate', value } };
  }
  yield { payload: { $case: 'statusUpdate', value: { ...about, status: statusOf(record) } } };
}

function agentMessage(record: TaskRecord, text: string): Message {
  return {
    messageId: `${record.id}-${record.state}`,
    contextId: record.context_id,
    taskId: record.id,
    role: Role.ROLE_AGENT,
    parts: [textPart(text)],
    metadata: undefined,
    extensions: [],
    referenceTaskIds: [],
  };
}
