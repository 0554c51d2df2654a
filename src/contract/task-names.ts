/** Names that both ends of a task agree on without having met. */

export const TASK_CHANNEL = 'agent-tasks';
export const DONE_CHANNEL = 'agent-done';

/** Where runs of pipelines are asked for; an agent that takes tasks in words must not get them. */
export const PIPELINE_CHANNEL = 'pipeline-tasks';
/** The kind that a bridge for them says it is. */
export const PIPELINE_RUNNER = 'pipelines';

/** The group in which bridges share the tasks of a channel, so that no two of them run the same one. */
export const TASK_GROUP = 'bridges';

/** Where tasks for one agent alone go. A group hands out to whoever is free, so an address needs a channel of its own. */
export function directChannel(channel: string, agent: string): string {
  return `${channel}@${agent}`;
}

/**
 * The idempotency key of a task's result: a second result is a conflict, whoever brings it. Where the sender may settle the task,
 * the relay puts it into its own namespace, so that nobody else can take it.
 */
export function resultKey(taskId: string): string {
  return `task-result:${taskId}`;
}
