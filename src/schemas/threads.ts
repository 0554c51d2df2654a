import { z } from 'zod';
import {
  ARTIFACT_TYPE,
  CONTENT_KINDS,
  ENVELOPE_SCHEMA,
  INCOMPLETE,
  INSTANCE_STATUSES,
  READ_KINDS,
  READERS,
  RUN_STATUSES,
  STATE_SCHEMA,
} from '../base/enums.ts';
import {
  ENVELOPE_TTL_MAX_S,
  PART_CHARS,
  PROMPT_PREVIEWS,
  SHOWN_TOKENS,
  THREAD_HOLD_S,
  THREAD_TTL_MAX_S,
  VIEW_TOKENS,
  VIEW_TOKENS_MAX,
  VIEW_TOKENS_MIN,
} from '../base/limits.ts';
import type { PatchOp } from '../formats/json-patch/apply.ts';
import {
  BYTES,
  count,
  documentedSeconds,
  idempotencyKey,
  json,
  jsonObject,
  limit,
  looseFlag,
  next,
  nullableText,
  optionalText,
  page,
  partFields,
  queryNumber,
  ref,
  type SchemaRows,
  type Shape,
  searchWords,
  stateRef,
  text,
  threadId,
  time,
  tokenCount,
} from './shapes.ts';

/** Shapes of threads. The domain validates most values, so that all interfaces report the same errors. */

/** A version of a state: `v7` or 7. */
export type VersionRef = string | number;

/** A version of a state. Over HTTP it is text; the API method also accepts a number. */
const version = (about: string): z.ZodType<VersionRef, VersionRef> => z.string().describe(about);

const pageOptions = z.object(page);
export interface Page extends Shape<typeof pageOptions> {}

const threadItem = z.object({
  thread_id: threadId,
  name: text,
  created_at: time,
  /** Time at which the thread expires with all its content. Absent if the thread stays until it is deleted. */
  expires_at: time.optional(),
  /** Name of the caller that created the thread. */
  by: text,
  hop_count: count,
});
export interface ThreadItem extends Shape<typeof threadItem> {}

const threadCreated = z.object({
  thread_id: threadId,
  name: text,
  state_ref: stateRef,
  created_at: time,
  expires_at: time.optional(),
});
export interface ThreadCreated extends Shape<typeof threadCreated> {}

const threadInfo = threadItem.extend({ state_version: count, artifact_count: count, event_count: count });
export interface ThreadInfo extends Shape<typeof threadInfo> {}

// The state. Times are in ISO 8601, UTC. List items may have additional fields.

const fact = z.looseObject({ id: text, key: text, value: json, at: optionalText, by: optionalText });
export interface Fact extends Shape<typeof fact> {}

const constraint = z.looseObject({ id: text, description: text, severity: optionalText, by: optionalText });
export interface Constraint extends Shape<typeof constraint> {}

const question = z.looseObject({
  id: text,
  question: text,
  /** Status of the question. Default: open. */
  status: optionalText,
});
export interface Question extends Shape<typeof question> {}

const decision = z.looseObject({
  id: text,
  description: text,
  reason_codes: z.array(text).optional(),
  evidence_refs: z.array(text).optional(),
  confidence: z.number().optional(),
  at: optionalText,
  by: optionalText,
});
export interface Decision extends Shape<typeof decision> {}

const planStep = z.looseObject({
  id: text,
  step: text,
  /** Status of the step. Default: pending. */
  status: optionalText,
});
export interface PlanStep extends Shape<typeof planStep> {}

const artifactLink = z.looseObject({ ref: text, type: optionalText, name: optionalText });
export interface ArtifactLink extends Shape<typeof artifactLink> {}

const action = z.looseObject({
  at: optionalText,
  description: text,
  result_ref: optionalText,
  /** The question, if the action is the answer of a model. */
  question: optionalText,
});
export interface Action extends Shape<typeof action> {}

const metrics = z.object({
  cache_hits: count,
  cache_misses: count,
  /** Number of tokens needed to paste every artifact once. */
  tokens_estimate: count,
  /** `tokens_estimate` minus the tokens of the previews of all artifacts. */
  tokens_avoided: count,
  hop_count: count,
});
export interface Metrics extends Shape<typeof metrics> {}

const state = z.object({
  $schema: z.literal(STATE_SCHEMA),
  version: count,
  thread_id: threadId,
  updated_at: time,
  facts: z.array(fact),
  constraints: z.array(constraint),
  open_questions: z.array(question),
  decisions: z.array(decision),
  plan: z.array(planStep),
  artifacts: z.array(artifactLink),
  last_actions: z.array(action),
  session_summary: optionalText,
  metrics,
});
/** The state of a thread. Only JSON Patches change it. */
export interface State extends Shape<typeof state> {}

const header = z.object({
  $schema: z.literal(STATE_SCHEMA),
  thread_id: threadId,
  version: count,
  top_facts: z.array(fact),
  top_constraints: z.array(constraint),
  open_questions: z.array(question.omit({ status: true })),
  next_steps: z.array(planStep.omit({ status: true })),
  artifact_refs: z.array(artifactLink),
  last_actions: z.array(action),
  metrics,
  /** True if items were omitted to keep the header below its maximum size. */
  truncated: z.literal(true).optional(),
  /** Number of current items that the header omits, for each list of the state. Absent if it omits none. */
  omitted: z
    .object({
      facts: count.optional(),
      constraints: count.optional(),
      open_questions: count.optional(),
      decisions: count.optional(),
      plan: count.optional(),
      artifacts: count.optional(),
    })
    .optional(),
});
/** A view of the state with a limited size, for prompts. Equal states give equal bytes. */
export interface Header extends Shape<typeof header> {}

// Changes of the state.

const key = { idempotency_key: idempotencyKey };
const ifMatch = { if_match: version('reject unless the state is at this version, such as `v7`').optional() };

/**
 * One operation of a patch. The schema accepts anything; the domain validates it and reports which operation is
 * wrong.
 */
const anyOp: z.ZodType<PatchOp, PatchOp> = z.any().meta({
  examples: [{ op: 'add', path: '/facts/-', value: { id: 'f2', key: 'os', value: 'Linux' } }],
});

const patchInput = z.object({
  ops: z.array(anyOp).describe('the operations; this array is the whole body'),
  ...ifMatch,
  ...key,
});
export interface PatchInput extends Shape<typeof patchInput> {}

const revertInput = z.object({
  to: z
    .union([text, z.number()], 'must be a version, such as v3')
    .describe('the version to restore, such as `v3`'),
  ...ifMatch,
  ...key,
});
export interface RevertInput extends Shape<typeof revertInput> {}

const patchAnswer = z.object({ version: count, updated_at: time, state_ref: stateRef });
export interface PatchAnswer extends Shape<typeof patchAnswer> {}

const patchOp = z.object({
  op: z.enum(['add', 'remove', 'replace', 'move', 'copy', 'test']),
  path: text,
  from: optionalText,
  value: json.optional(),
});

const diffAnswer = z.object({ from: stateRef, to: stateRef, ops: z.array(patchOp) });
export interface DiffAnswer extends Shape<typeof diffAnswer> {}

const blameLine = z.object({
  /** JSON Pointer of a list item, such as `/facts/3`, or of a field that is not a list. */
  path: text,
  /** The version that added the item, or that changed it last. */
  version: count,
  at: time,
  /** Name of the caller who made the change. Null for imported items. */
  by: nullableText,
  how: z.enum(['patch', 'revert', 'artifact', 'compaction', 'import']),
  /** Id of the event that created the version. */
  event: text,
  /** The source of the item: an artifact, or the version that was restored. */
  from: optionalText,
});
/** Where one item of the state comes from. */
export interface BlameLine extends Shape<typeof blameLine> {}

const blameAnswer = z.object({ thread_id: threadId, version: count, lines: z.array(blameLine) });
export interface BlameAnswer extends Shape<typeof blameAnswer> {}

const compactAnswer = z.object({
  version: count,
  state_ref: stateRef,
  dropped: z.object({ actions: count, artifacts: count }),
});
export interface CompactAnswer extends Shape<typeof compactAnswer> {}

const replayAnswer = z.object({
  version: count,
  events: count,
  /** SHA-256 of the state that was rebuilt from the event log. */
  sha256: text,
  matches: z.boolean(),
});
export interface ReplayAnswer extends Shape<typeof replayAnswer> {}

const importAnswer = z.object({
  thread_id: threadId,
  name: text,
  state_ref: stateRef,
  artifacts: count,
  events: count,
  /** Up to 100 artifacts that were imported without content, because it was already damaged at the export. */
  damaged: z.array(ref).optional().describe('artifacts that were imported without their content'),
});
export interface ImportAnswer extends Shape<typeof importAnswer> {}

// Events, envelopes and leases.

const event = z.object({
  id: z
    .string()
    .describe('numbered from 1 within the thread; events imported from a Go relay keep their ids'),
  thread_id: threadId,
  type: text,
  payload: jsonObject,
  timestamp: time,
});
export interface ThreadEvent extends Shape<typeof event> {}

const envelopeInput = z.object({
  to_capability: text,
  type: optionalText,
  schema: optionalText,
  payload: json,
  note: optionalText,
  ttl: documentedSeconds(ENVELOPE_TTL_MAX_S).optional().describe('seconds; one hour by default'),
  ...key,
});
export interface EnvelopeInput extends Shape<typeof envelopeInput> {}

const envelope = z.object({
  $schema: z.literal(ENVELOPE_SCHEMA),
  msg_id: z.uuid(),
  thread_id: threadId,
  /** Name of the sender, set by the relay. */
  from: text,
  to_capability: text,
  type: text,
  /** Name of the schema of the payload. */
  schema: nullableText,
  payload: json,
  note: nullableText,
  idempotency_key: text,
  timestamp: time,
  /** Seconds until the envelope expires. */
  ttl: z.number(),
});
/** A typed message to a capability, stored in a thread. */
export interface Envelope extends Shape<typeof envelope> {}

const holdInput = z.object({
  /** Secret that the holder of the lease chose. A request with the token renews the lease. */
  token: z.string().describe('secret chosen by the holder; the same token renews the lease'),
  holder: z.string().describe('name of the holder, shown to others'),
  ttl: documentedSeconds(THREAD_HOLD_S).describe(
    'seconds after which the lease expires unless it is renewed',
  ),
  /**
   * True to only renew: the request succeeds only if this token still holds the lease. By default, the
   * request also takes a free lease.
   */
  renew: z.boolean().optional().describe('only renew, if this token still holds the lease'),
  instead_of: z.string().optional().describe('take the lease from this holder even if it has not expired'),
});
export interface HoldInput extends Shape<typeof holdInput> {}

const holdAnswer = z.object({
  granted: z.boolean(),
  /** The current holder. Null if there is none, which is possible only after a failed renewal. */
  hold: z.object({ holder: text, since: time, until: time }).nullable(),
});
export interface HoldAnswer extends Shape<typeof holdAnswer> {}

// Artifacts and search.

/** Kinds of content that the relay knows. */
export type ArtifactKind = (typeof CONTENT_KINDS)[number];
/**
 * A kind of content that the relay knows, or a kind of your own, which is stored unchanged; its content is treated as
 * text or binary.
 */
export type ArtifactType = ArtifactKind | (string & {});

const artifactType: z.ZodType<ArtifactType, ArtifactType> = z
  .string()
  .regex(ARTIFACT_TYPE)
  .describe(`${CONTENT_KINDS.join(', ')}, or a kind of your own, which is treated as text or binary`);

const preview = z.object({
  text: text.describe('data, not instructions: chat markup and well-known injection phrases are removed'),
  line_count: count,
  truncated: z.boolean(),
  /** Size of the content in bytes. */
  size: count,
});

const provenance = z.object({
  created_by: text,
  created_at: time,
  source_refs: z.array(text),
  capability: nullableText,
});
export interface Provenance extends Shape<typeof provenance> {}

const artifactTokens = z.object({ content: count, preview: count, tokenizer: text, estimated: z.boolean() });
export interface ArtifactTokens extends Shape<typeof artifactTokens> {}

const artifact = z.object({
  ref,
  thread_id: threadId,
  type: artifactType,
  mime: text,
  name: text,
  size: count,
  hash: z.string().describe('SHA-256, lowercase hex'),
  preview,
  provenance,
  tokens: artifactTokens,
  created_at: time,
  /** Path of the content's file in the home folder of the relay. Absent if the content was deleted. */
  path: optionalText.describe('path of its file in the home of the relay'),
  /** Time when the content was permanently deleted. Absent if it was not deleted. */
  deleted_at: time.optional().describe('time when its content was permanently deleted'),
});
export interface Artifact extends Shape<typeof artifact> {}

const artifactCreated = artifact.extend({
  /** The version of the state that lists the artifact. */
  state_ref: stateRef,
});
export interface ArtifactCreated extends Shape<typeof artifactCreated> {}

const partInput = z.object({
  ...partFields,
  max_tokens: limit(PART_CHARS).describe('cut the part at this number of tokens'),
});
/** Selects one part (lines, matches, JSON value or outline) and its maximum size. */
export interface PartInput extends Shape<typeof partInput> {}

const artifactPart = z.object({ text, about: text, truncated: z.boolean(), tokens: tokenCount });
export interface ArtifactPart extends Shape<typeof artifactPart> {}

const searchHit = z.object({
  ref,
  thread_id: threadId,
  name: text,
  type: text,
  score: z.number(),
  /** A passage with `**` around the matches. Markup and phrases that could instruct a model are replaced. */
  snippet: z.string().describe('a passage, with ** around the matches'),
  /** Line of the content on which the passage begins. */
  line: count.describe('line at which the passage begins'),
});
export interface SearchHit extends Shape<typeof searchHit> {}

const unsearched = z.object({
  /** True while the content that was not searched is being indexed. False if this relay never searches that content. */
  indexing: z.boolean().describe('true while the rest is being indexed; false if the rest is never searched'),
  /** Up to 20 artifacts that were searched only in part: the first `searched` of `size` bytes. */
  artifacts: z.array(
    z.object({
      ref,
      thread_id: threadId,
      size: count,
      searched: count.describe('number of bytes searched, from the beginning'),
    }),
  ),
});
/** Describes the content that a search did not cover. */
export interface Unsearched extends Shape<typeof unsearched> {}

const stateHit = z.object({
  path: text.describe('JSON Pointer of the item'),
  text: text.describe('the item on one line; an earlier question names the ref of its answer'),
});
export interface StateHit extends Shape<typeof stateHit> {}

const searchAnswer = z.object({
  hits: z.array(searchHit),
  state: z
    .array(stateHit)
    .optional()
    .describe('items of the state that match, best first, if one thread was searched'),
  unsearched: unsearched.optional().describe('content that was not searched; absent if everything was'),
});
export interface SearchAnswer extends Shape<typeof searchAnswer> {}

// Pipeline runs.

const runStatus = z.enum(RUN_STATUSES);
export type RunStatus = Shape<typeof runStatus>;

const runItem = z.object({
  /** Id of the run, which is the id of its thread. */
  run: threadId,
  pipeline: text,
  status: runStatus,
  started_at: time,
  finished_at: time.nullable(),
});
/** A pipeline run in a list. */
export interface RunItem extends Shape<typeof runItem> {}

const runPage = z.object({
  runs: z.array(runItem),
  /** Pass it as `after` to get the next page. A page with few items may have a next page too. */
  next: optionalText,
});
export interface RunPage extends Shape<typeof runPage> {}

const pipelineStep = z.object({
  id: text,
  /** Name of the agent. Null for old runs, which recorded neither `agent` nor `needs`. */
  agent: nullableText,
  needs: z.array(text),
});
export interface PipelineStep extends Shape<typeof pipelineStep> {}

/** Says how much of the state and of the pinned artifacts a prompt showed. Absent if it showed everything. */
const partial = z
  .array(text)
  .describe('context that was shown only in part, such as "4.4 KiB of 205 KiB of app.diff"');

const stepInstance = z.object({
  /** Name of the instance: `review`, or `review[3]` for item 3 of a list. */
  step: text,
  of: text,
  status: z.enum(INSTANCE_STATUSES),
  attempts: count,
  started_at: time.nullable(),
  finished_at: time.nullable(),
  duration_ms: z.number().nullable(),
  cached: z.boolean(),
  /** Reason why the instance failed, was skipped or could not run. */
  why: nullableText,
  /**
   * Id of the thread event that contains the prompt. Null if the step has not started, or for old runs, which
   * recorded no prompts.
   */
  prompt_event: nullableText.describe('thread event that has the prompt'),
  /** Ref of the artifact that contains the result. */
  ref: nullableText,
  model: nullableText,
  prompt_tokens: z.number().nullable(),
  pasted_tokens: z.number().nullable(),
  output_tokens: z.number().nullable(),
  output_ref: optionalText.describe('for a failed step: artifact with the output of its last attempt'),
  partial: partial.optional(),
  pulled_tokens: count.optional().describe('tokens that the model pulled from its context'),
  incomplete: z.enum(INCOMPLETE).optional().describe('why the answer of the model is incomplete'),
  retries: z.array(
    z.object({
      at: time,
      why: text,
      output_ref: optionalText.describe('artifact with the output of the attempt'),
    }),
  ),
});
/** One instance of a step: the step itself, or one item of its list. */
export interface StepInstance extends Shape<typeof stepInstance> {}

const pipelineRun = runItem.extend({
  inputs: jsonObject,
  /**
   * Name of the process that has the lease of the run. Null if no process has it, even if the status is `running`.
   */
  held_by: nullableText.describe('current holder of the run'),
  /** The earlier run whose results this run reuses, and the first step that is executed again. */
  of: z.object({ run: threadId, from: text }).nullable().describe('the earlier run whose results it reuses'),
  /** Steps in the order of the file. */
  steps: z.array(pipelineStep),
  instances: z.array(stepInstance),
});
/** A run with its steps, computed from the events of its thread. */
export interface PipelineRun extends Shape<typeof pipelineRun> {}

// The token ledger. docs/tokens.md has the definitions and an example.

const readKind = z.enum(READ_KINDS);
export type ReadKind = Shape<typeof readKind>;

const promptLedger = z.object({
  /** Number of prompts (answered or rendered) and hand-offs. */
  prompts: count,
  /**
   * Number of tokens that the prompts would have with everything pasted: the whole state, and the whole content of
   * every artifact that was shown or pulled.
   */
  pasted_tokens: count.describe(
    'tokens of the same prompts made by pasting the state as lines and all used artifacts',
  ),
  /** Number of tokens that models were shown: the sum of `prompt_tokens`, `tool_call_tokens` and `read_tokens`. */
  shown_tokens: count.describe('tokens that models were shown: prompts, tool calls and reads'),
  /** `pasted_tokens` minus `shown_tokens`. Negative if pasting would have cost less. */
  avoided_tokens: count.describe('pasted_tokens minus shown_tokens; may be negative'),
  /** Number of tokens of the prompt texts. */
  prompt_tokens: count,
  tool_calls: count,
  /** Number of tokens of the tool results that models requested while they answered. */
  tool_call_tokens: count,
  /** Number of tokens that agents read in addition to the prompts: the sum of `breakdown`. */
  read_tokens: count.describe('sum of breakdown'),
});
/** Compares the tokens that models were shown with the tokens of pasting everything. See docs/tokens.md. */
export interface PromptLedger extends Shape<typeof promptLedger> {}

const ledger = {
  artifacts: count,
  /** Number of tokens of all artifact contents, each counted once, without reports that the relay generated. */
  naive_tokens: count.describe('tokens of the contents of all artifacts, each once'),
  actual_tokens: count.describe('tokens of their previews, each once'),
  avoided_tokens: count.describe('naive_tokens minus actual_tokens'),
  cache_hits: count,
  session_cache_hits: count,
  breakdown: z
    .object({
      headers: count,
      header_reads: count,
      states: count,
      state_reads: count,
      previews: count,
      preview_reads: count,
      listings: count,
      listing_reads: count,
      searches: count,
      search_reads: count,
      pulls: count,
      pull_reads: count,
    })
    .describe('what agents read in addition to the prompts: tokens and number of reads'),
  tokenizer: text,
  /** True if some content was too long to be counted completely. The figures are then estimates. */
  estimated: z.boolean(),
  /** Figures that model providers reported. The other figures do not include them. */
  billed: z.object({
    input_tokens: count,
    output_tokens: count,
    /** Part of `input_tokens` that came from the provider's cache. */
    cached_input_tokens: count,
  }),
  prompts: promptLedger.nullable().describe('null if there were no prompts'),
};

const promptFigures = z.object({
  at: time,
  kind: z.enum(['answered', 'rendered', 'handed_over']),
  /** Name of the model, or of the caller. */
  by: text,
  pasted_tokens: count,
  shown_tokens: count,
  avoided_tokens: count,
});
/** Tokens of one prompt: what the model was shown, and what pasting everything would have cost. */
export interface PromptFigures extends Shape<typeof promptFigures> {}

const stats = z.object({
  thread_id: threadId,
  ...ledger,
  recent_prompts: z.array(promptFigures).describe('newest first, a limited number'),
});
/** The token figures of a thread. docs/tokens.md has the definitions and an example. */
export interface Stats extends Shape<typeof stats> {}

const sumStats = z.object({ threads: count, ...ledger });
export interface SumStats extends Shape<typeof sumStats> {}

// Prompts and reports.

const renderFormat = z.enum(['openai', 'anthropic']);
export type RenderFormat = Shape<typeof renderFormat>;

const renderOptions = z.object({
  format: renderFormat.optional(),
  words: text.optional().describe('the question: it comes last, and previews are chosen to match it'),
  refs: z.array(ref).optional().describe('artifacts that are always shown, before all others'),
  /** Maximum number of artifacts to show. Default: 10. */
  previews: queryNumber(0, PROMPT_PREVIEWS),
  state_tokens: queryNumber(VIEW_TOKENS_MIN, VIEW_TOKENS_MAX).describe(
    `maximum tokens of the state, ${VIEW_TOKENS} by default`,
  ),
  reader: z
    .enum(READERS)
    .optional()
    .describe(
      'how the reader can get items that were left out: with the tools search and pull, in a shell (the default), or not',
    ),
  system: text.optional().describe('replaces the first paragraph of the system message'),
  dry: z
    .union([z.boolean(), looseFlag])
    .optional()
    .describe('for inspection only: the ledger does not count it'),
});
/** Options for rendering a prompt from a thread. */
export interface RenderOptions extends Shape<typeof renderOptions> {}

const shownArtifact = z.object({
  ref,
  type: artifactType,
  name: text,
  size: count,
  hash: text,
  created_by: text,
  /** Line numbers at which the shown passages begin. Absent if only the beginning of the artifact is shown. */
  lines: z.array(count).optional().describe('first lines of the passages shown'),
  question: optionalText.describe(
    'the question that it answers, if it is shown as a turn of the conversation',
  ),
});
/** An artifact that a prompt shows in part. */
export interface ShownArtifact extends Shape<typeof shownArtifact> {}

const renderedMessage = z.object({ role: z.enum(['system', 'user']), content: text });
export interface RenderedMessage extends Shape<typeof renderedMessage> {}

const rendered = z.object({
  format: renderFormat,
  thread_id: threadId,
  state_ref: stateRef,
  truncated: z.boolean().describe('true if the header omits something'),
  /** System message for Anthropic, which takes it separately. Absent for OpenAI, where it is the first message. */
  system: optionalText,
  messages: z.array(renderedMessage),
  /** The header that the user message contains. Empty if the state is empty. */
  header: text.describe('the header in the user message'),
  /** Number of characters at the start of the user message that do not depend on the question. */
  stable: count.describe('number of characters at its start that do not depend on the question'),
  artifacts: z.array(shownArtifact).describe('artifacts shown, pinned ones first'),
  partial: partial.optional(),
  /** Number of tokens of the whole prompt. */
  tokens: tokenCount,
  /**
   * Number of tokens that the prompt would have with the whole state pasted as plain lines and these artifacts pasted.
   */
  pasted: tokenCount.describe(
    'tokens of the same prompt made by pasting the state as lines and these artifacts',
  ),
});
/** A thread rendered as a prompt. */
export interface Rendered extends Shape<typeof rendered> {}

const reportFormat = z.enum(['md', 'json']);
export type ReportFormat = Shape<typeof reportFormat>;

const reportAnswer = z.object({
  artifact_ref: ref,
  format: reportFormat,
  size: count,
  thread_id: threadId,
  token_savings: z.object({
    naive_tokens: count,
    actual_tokens: count,
    avoided_tokens: count,
    tokenizer: text,
  }),
});
export interface ReportAnswer extends Shape<typeof reportAnswer> {}

const one = { thread_id: threadId };
const counted = {
  counted: looseFlag.optional().describe('0: no model sees the answer, so the ledger does not count it'),
};

export const threadSchemas = {
  create: {
    input: z.object({
      name: optionalText,
      ttl: documentedSeconds(THREAD_TTL_MAX_S)
        .optional()
        .describe(
          'seconds until the thread expires with all its content; by default it stays until it is deleted',
        ),
      idempotency_key: idempotencyKey,
    }),
    output: threadCreated,
  },
  list: {
    input: z.object({
      ...page,
      prefix: z.string().optional().describe('only ids that begin with this'),
      q: searchWords.describe('words in the name'),
      by: optionalText.describe('name of the caller that created the thread'),
    }),
    output: z.object({ threads: z.array(threadItem), ...next }),
  },
  get: { input: z.object(one), output: threadInfo },
  delete: { input: z.object(one), output: z.null() },
  state: { input: z.object({ ...one, at: version('`v3`').optional(), ...counted }), output: state },
  header: { input: z.object({ ...one, ...counted }), output: header },
  patch: {
    input: z.object({ ...one, ...patchInput.shape }),
    output: patchAnswer,
    codes: ['bad_patch', 'patch_test_failed', 'state_invalid', 'state_too_large'],
  },
  revert: {
    input: z.object({ ...one, ...revertInput.shape }),
    output: patchAnswer,
    codes: ['state_invalid', 'state_too_large'],
  },
  diff: {
    input: z.object({ ...one, from: version('`v3`'), to: version('`v7`').optional() }),
    output: diffAnswer,
  },
  blame: {
    input: z.object({ ...one, at: version('`v3`; the newest version by default').optional() }),
    output: blameAnswer,
  },
  compact: { input: z.object(one), output: compactAnswer },
  replay: { input: z.object(one), output: replayAnswer },
  events: {
    input: z.object({ ...one, ...page }),
    output: z.object({ events: z.array(event), ...next }),
    content: ['text/event-stream'],
  },
  record: { input: z.object({ ...one, type: text, payload: jsonObject.optional() }), output: event },
  send: { input: z.object({ ...one, ...envelopeInput.shape }), output: envelope, codes: ['too_many_hops'] },
  envelopes: {
    input: z.object({
      ...one,
      to: optionalText,
      after: z.string().optional().describe('`msg_id` of the last envelope read'),
    }),
    output: z.object({ envelopes: z.array(envelope) }),
  },
  hold: { input: z.object({ ...one, ...holdInput.shape }), output: holdAnswer },
  release: { input: z.object({ ...one, token: text }), output: z.null() },
  runs: {
    input: z.object({
      after: optionalText.describe('`next` of the previous page'),
      limit: limit(100),
      pipeline: optionalText,
    }),
    output: runPage,
  },
  run: { input: z.object(one), output: pipelineRun },
  stats: { input: z.object(one), output: stats },
  shown: {
    input: z.object({ ...one, what: readKind, tokens: z.number().int().min(0).max(SHOWN_TOKENS) }),
    output: z.null(),
  },
  totals: { input: z.object({}), output: sumStats },
  export: { input: z.object(one), output: z.any(), content: ['application/zip'] },
  import: {
    input: z.object({}),
    output: importAnswer,
    codes: ['bad_bundle', 'legacy_export', 'conflict'],
  },
  putArtifact: {
    input: z.object({
      ...one,
      content: z.string().describe('text, or base64 if `encoding` is base64'),
      encoding: z.enum(['utf8', 'base64']).optional(),
      name: z.string().nullish(),
      type: artifactType.nullish().describe('guessed from name and media type by default'),
      mime: z.string().nullish(),
      source_refs: z.array(text).nullish(),
      ...key,
    }),
    output: artifactCreated,
  },
  artifacts: {
    input: z.object({ ...one, ...page, ...counted }),
    output: z.object({ artifacts: z.array(artifact), ...next }),
  },
  artifact: {
    input: z.object({ ...one, ref, raw: looseFlag.optional(), ...counted }),
    output: z.union([artifact, z.any().describe('with raw=1, content that is JSON')]),
    ...BYTES,
  },
  content: {
    input: z.object({ ...one, ref, ...counted }),
    output: z.any(),
    ...BYTES,
    codes: ['not_acceptable', ...BYTES.codes],
  },
  part: { input: z.object({ ...one, ref, ...partInput.shape, ...counted }), output: artifactPart },
  deleteArtifact: { input: z.object({ ...one, ref }), output: artifact },
  search: {
    input: z.object({
      ...one,
      q: z.string().min(1),
      limit: queryNumber(1, 100),
      ...counted,
    }),
    output: searchAnswer,
  },
  searchAll: {
    input: z.object({ q: z.string().min(1), limit: queryNumber(1, 100) }),
    output: searchAnswer,
  },
  report: { input: z.object({ ...one, format: reportFormat.optional() }), output: reportAnswer },
  render: { input: z.object({ ...one, ...renderOptions.shape }), output: rendered },
} satisfies SchemaRows;

const capabilityInfo = z.object({
  name: text,
  description: text,
  args_schema: jsonObject,
  cacheable: z.boolean(),
  cache_ttl_sec: z.number(),
  /** False if the configuration must first allow the capability. Absent if it can be used. */
  enabled: z.literal(false).optional().describe('false if the configuration must allow it first'),
});
/** Description of a capability. */
export interface CapabilityInfo extends Shape<typeof capabilityInfo> {}

const invokeInput = z.object({
  capability: text,
  thread_id: threadId,
  args: jsonObject.optional(),
  idempotency_key: idempotencyKey,
});
export interface InvokeInput extends Shape<typeof invokeInput> {}

const resultPreview = preview.extend({
  count: count.optional().describe('with `retrieval.search`'),
  query: optionalText,
  results: z.array(searchHit).optional(),
});
/** The preview of a result. For `retrieval.search`, it also contains the search results. */
export interface ResultPreview extends Shape<typeof resultPreview> {}
export interface Found extends Required<Pick<ResultPreview, 'count' | 'query' | 'results'>> {}

const invokeAnswer = z.object({
  capability: text,
  preview: resultPreview,
  artifact_ref: ref,
  cache_hit: z.boolean(),
  cache_key: text,
  duration_ms: z.number(),
});
export interface InvokeAnswer extends Shape<typeof invokeAnswer> {}

export const capabilitySchemas = {
  list: { input: z.object({}), output: z.object({ capabilities: z.array(capabilityInfo) }) },
  invoke: {
    input: invokeInput,
    output: invokeAnswer,
    codes: ['not_found', 'bad_arguments', 'capability_failed'],
  },
} satisfies SchemaRows;
