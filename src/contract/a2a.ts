import { type FromRecord, verbs } from './verb.ts';

/** What the relay does as an A2A agent. The protocol carries these itself, so that they have no route here. */

const task = {
  /** Of the agent that is given the task, or of the task’s record. */
  channels: ({ channel, done_channel }: FromRecord) => [channel, done_channel],
  only: 'a2a',
} as const;

const verb = verbs({ scope: 'tasks', args: [] });

export const a2a = {
  getCard: verb<null>('a2a.GetAgentCard')({ ...task, summary: 'What an agent behind a bridge can do' }),
  send: verb<null>('a2a.SendMessage')({ ...task, summary: 'Give an agent a task' }),
  get: verb<null>('a2a.GetTask')({ ...task, summary: 'A task and its result' }),
  list: verb<null>('a2a.ListTasks')({ ...task, summary: 'The tasks of an agent' }),
  cancel: verb<null>('a2a.CancelTask')({ ...task, summary: 'Call a task off' }),
  subscribe: verb<null>('a2a.SubscribeToTask')({ ...task, summary: 'What happens to a task, as it happens' }),
  addWebhook: verb<null>('a2a.CreateTaskPushNotificationConfig')({ ...task, summary: 'Have a webhook told' }),
  getWebhook: verb<null>('a2a.GetTaskPushNotificationConfig')({ ...task, summary: 'A webhook of a task' }),
  listWebhooks: verb<null>('a2a.ListTaskPushNotificationConfigs')({ ...task, summary: 'Its webhooks' }),
  removeWebhook: verb<null>('a2a.DeleteTaskPushNotificationConfig')({
    ...task,
    summary: 'Tell it no longer',
  }),
};
