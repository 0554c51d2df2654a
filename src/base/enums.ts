/**
 * Enumerations of the API. They are separate from the schemas, so that clients can use them without a schema library.
 */

/** Permissions that an API key can have. */
export const SCOPES = ['push', 'pull', 'subscribe', 'threads', 'files', 'tasks', 'answer', 'admin'] as const;

/** The stages of the receipts of a pointer, in order. */
export const RUNGS = ['stored', 'notified', 'pulled', 'acked', 'dead', 'result'] as const;

/**
 * States of a task. `queued`: no bridge works on it. `running`: a bridge has a lease on it. `acked`: it was
 * acknowledged without a result. `done`, `failed`: it has a result. `canceled`: it was cancelled before it had a
 * result.
 */
export const TASK_STATES = ['queued', 'running', 'acked', 'done', 'failed', 'canceled'] as const;

export const TASK_STATUSES = ['done', 'failed', 'canceled'] as const;

/** How soon a session of an agent sees a message: immediately, at its next turn, when it starts again, or never. */
export const AGENT_REACH = ['now', 'turn', 'start', 'no'] as const;

/** Senders whose messages are shown to a session. */
export const INBOUND = ['known', 'all', 'none'] as const;

/** States of a message to an agent, in order. */
export const MESSAGE_STATES = ['queued', 'shown', 'read', 'answered'] as const;

export const RUN_STATUSES = ['running', 'done', 'failed', 'interrupted', 'partial', 'cancelled'] as const;

export const INSTANCE_STATUSES = ['pending', 'running', 'done', 'failed', 'skipped', 'blocked'] as const;

/** States of a question to a person. `expired`: nobody answered in time and it has no default. */
export const QUESTION_STATUSES = ['open', 'answered', 'expired', 'withdrawn'] as const;

/**
 * Kinds of reads of a thread that the token ledger counts. Reads of an artifact's content are missing here, because
 * they are recorded as events.
 */
export const READ_KINDS = ['headers', 'states', 'previews', 'listings', 'searches'] as const;

/** Reasons why the answer of a model is incomplete. */
export const INCOMPLETE = ['refused', 'cut', 'empty'] as const;
export type Incomplete = (typeof INCOMPLETE)[number];

/** How the reader of a prompt can get what the prompt leaves out. */
export const READERS = ['tools', 'shell', 'none'] as const;

export const STATE_SCHEMA = 'com.relay.state.v1';
export const ENVELOPE_SCHEMA = 'com.relay.a2a.envelope.v1';

/** Kinds of content that the relay knows. */
export const CONTENT_KINDS = ['markdown', 'json', 'html', 'text', 'binary', 'tool_output', 'email'] as const;

/** Allowed form of a custom artifact type. The type is sent in headers and shown in prompts. */
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
  'file.written',
  'file.deleted',
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
  'question.asked',
  'question.answered',
  /**
   * Entries that were counted but not stored, because too many came in a short time or the store was slow. `count` is
   * their number.
   */
  'left_out',
  /** Earlier entries have expired. A client that follows the log should reload its data. */
  'gap',
] as const;
