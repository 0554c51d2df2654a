import type { JsonObject } from '../base/json.ts';
import { type FromRecord, verbs } from './verb.ts';

const verb = verbs({ scope: 'tasks', args: [] });

/** A method of the protocol. Its channels are those of the agent that is given the task, or of the task’s record. */
const method = (name: string, summary: string) =>
  verb<null>(`a2a.${name}`)({
    summary,
    channels: ({ channel, done_channel }: FromRecord) => [channel, done_channel],
    only: 'a2a',
  });

/** What the relay does as an A2A agent. The protocol carries these itself, so that they have no route here. */
export const a2a = {
  getCard: method('GetAgentCard', 'What an agent behind a bridge can do'),
  send: method('SendMessage', 'Give an agent a task'),
  get: method('GetTask', 'A task and its result'),
  list: method('ListTasks', 'The tasks of an agent'),
  cancel: method('CancelTask', 'Call a task off'),
  subscribe: method('SubscribeToTask', 'What happens to a task, as it happens'),
  addWebhook: method('CreateTaskPushNotificationConfig', 'Have a webhook told'),
  getWebhook: method('GetTaskPushNotificationConfig', 'A webhook of a task'),
  listWebhooks: method('ListTaskPushNotificationConfigs', 'Its webhooks'),
  removeWebhook: method('DeleteTaskPushNotificationConfig', 'Tell it no longer'),
};

/** What the metadata of a task that came over A2A says under `a2a`, for the bridge that takes it. */
export interface TaskMessage {
  readonly message_id: string;
  readonly context_id: string;
  /** The A2A task that it goes on with; absent in a message that begins one, whose id is that of this very task. */
  readonly task_id?: string;
  /** The message in the protocol's JSON. What was large in it, and bytes, are behind URLs. */
  readonly message?: JsonObject;
  /** The pointer to it, where it is too large to ride along. */
  readonly message_pointer?: string;
}
