/**
 * Closed lists of words that appear on the wire. They are plain data: the schemas are made from them, and clients and
 * the browser load them without a schema library.
 */

/** What an API key may do. */
export const SCOPES = ['push', 'pull', 'subscribe', 'threads', 'files', 'tasks', 'admin'] as const;

/** The stages of a pointer that there can be evidence for, in their order. */
export const RUNGS = ['stored', 'notified', 'pulled', 'acked', 'dead', 'result'] as const;

/**
 * `queued`: nobody has it. `running`: somebody holds a lease on it. `acked`: somebody said that it is done and brought no
 * result. `done`, `failed`: there is a result. `canceled`: it was called off before there was one.
 */
export const TASK_STATES = ['queued', 'running', 'acked', 'done', 'failed', 'canceled'] as const;

export const TASK_STATUSES = ['done', 'failed', 'canceled'] as const;

export const RUN_STATUSES = ['running', 'done', 'failed', 'interrupted', 'partial'] as const;

export const INSTANCE_STATUSES = ['pending', 'running', 'done', 'failed', 'skipped', 'blocked'] as const;

/** What an agent reads of a thread beside its prompts. Contents are pulled, which is an event. */
export const READ_KINDS = ['headers', 'states', 'previews', 'listings', 'searches'] as const;

export const STATE_SCHEMA = 'com.relay.state.v1';
export const ENVELOPE_SCHEMA = 'com.relay.a2a.envelope.v1';

/** The kinds of content that are told apart. */
export const CONTENT_KINDS = ['markdown', 'json', 'html', 'text', 'binary', 'tool_output', 'email'] as const;

/** What an artifact's type of one's own may look like; it travels in headers and stands in prompts. */
export const ARTIFACT_TYPE = /^[A-Za-z0-9][\w.+/-]{0,63}$/;

export const FIGURE_STEPS = ['hour', 'day'] as const;

export const ACTIVITY_KINDS = [
  'pointer.pushed',
  'pointer.pulled',
  'pointer.revoked',
  'channel.signal',
  'group.claimed',
  'group.acked',
  'group.dead',
  'group.revived',
  'thread.created',
  'thread.patched',
  'thread.deleted',
  'thread.event',
  'artifact.created',
  'artifact.deleted',
  'pipeline.started',
  'pipeline.resumed',
  'pipeline.finished',
  'step.started',
  'step.done',
  'step.failed',
  'task.sent',
  'task.claimed',
  'task.done',
  'task.failed',
  'task.canceled',
  'agent.came',
  'agent.left',
  'key.created',
  'key.revoked',
  'key.rotated',
  'share.created',
  'share.revoked',
  /** So many that are not told one by one: more happened at once than anybody reads, or the store was slow. */
  'left_out',
  /** What came before is no longer kept: whoever goes by what it has been told looks at everything anew. */
  'gap',
] as const;
