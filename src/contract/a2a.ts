import type { JsonObject } from '../base/json.ts';
import { type FromRecord, verbs } from './verb.ts';

const verb = verbs({ scope: 'tasks', args: [] });

/**
 * Declares one method of the A2A protocol. The caller needs access to the channels of the agent, or to the channels
 * in the record of the task.
 */
const method = (name: string, summary: string) =>
  verb<null>(`a2a.${name}`)({
    summary,
    channels: ({ channel, done_channel }: FromRecord) => [channel, done_channel],
    only: 'a2a',
  });

/** The methods of the relay as an A2A agent. They have no `route`, because the A2A protocol defines its own. */
export const a2a = {
  getCard: method('GetAgentCard', 'Get the agent card of an agent behind a bridge'),
  send: method('SendMessage', 'Send a task to an agent'),
  get: method('GetTask', 'Get a task and its result'),
  list: method('ListTasks', 'List the tasks of an agent'),
  cancel: method('CancelTask', 'Cancel a task'),
  subscribe: method('SubscribeToTask', 'Stream the changes of a task'),
  addWebhook: method('CreateTaskPushNotificationConfig', 'Add a webhook to a task'),
  getWebhook: method('GetTaskPushNotificationConfig', 'Get a webhook of a task'),
  listWebhooks: method('ListTaskPushNotificationConfigs', 'List the webhooks of a task'),
  removeWebhook: method('DeleteTaskPushNotificationConfig', 'Remove a webhook from a task'),
};

/** The field `a2a` in the metadata of a task that came over A2A, for the bridge. */
export interface TaskMessage {
  readonly message_id: string;
  readonly context_id: string;
  /** Id of the A2A task that this message continues. Absent in the first message of an A2A task. */
  readonly task_id?: string;
  /** The message as A2A JSON, with URLs instead of large or binary parts. */
  readonly message?: JsonObject;
  /** Pointer to the message, if the message is too large for the metadata. */
  readonly message_pointer?: string;
}
