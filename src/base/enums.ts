/** Enumerations of the API. They are plain data, so that clients and the browser need no schema library to use them. */

/** What an API key may do. */
export const SCOPES = ['push', 'pull', 'subscribe', 'threads', 'files', 'tasks', 'admin'] as const;

/** The stages of receipts, in their order. */
export const RUNGS = ['stored', 'notified', 'pulled', 'acked', 'dead', 'result'] as const;

/**
 * `queued`: no bridge has it. `running`: a bridge holds a lease on it. `acked`: it was acknowledged without a result.
 * `done`, `failed`: it has a result. `canceled`: it was cancelled before it had a result.
 */
export const TASK_STATES = ['queued', 'running', 'acked', 'done', 'failed', 'canceled'] as const;

export const TASK_STATUSES = ['done', 'failed', 'canceled'] as const;

export const RUN_STATUSES = ['running', 'done', 'failed', 'interrupted', 'partial'] as const;

export const INSTANCE_STATUSES = ['pending', 'running', 'done', 'failed', 'skipped', 'blocked'] as const;

/** Kinds of reads of a thread that the token ledger counts. Reads of artifact contents are events instead. */
export const READ_KINDS = ['headers', 'states', 'previews', 'listings', 'searches'] as const;

export const STATE_SCHEMA = 'com.relay.state.v1';
export const ENVELOPE_SCHEMA = 'com.relay.a2a.envelope.v1';

/** The known kinds of content. */
export const CONTENT_KINDS = ['markdown', 'json', 'html', 'text', 'binary', 'tool_output', 'email'] as const;

/** Allowed form of a custom artifact type. It is sent in headers and shown in prompts. */
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
  /** Number of entries that were not recorded separately, because there were too many at once or the store was slow. */
  'left_out',
  /** Earlier entries have expired. A client that follows the log should reload its data. */
  'gap',
] as const;
