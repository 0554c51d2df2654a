import { badRequest } from '../../base/errors.ts';
import { isJsonObject, type Json, type JsonObject, jsonObjectIn } from '../../base/json.ts';
import { A2A_ARTIFACTS, A2A_PARTS } from '../../base/limits.ts';

/** Media type of a result that contains an answer of an agent as JSON of the A2A protocol. */
export const ANSWER_TYPE = 'application/a2a+json';

/**
 * States in which a turn of an A2A task can end. In the protocol, `completed` is written
 * `TASK_STATE_COMPLETED`.
 */
const STATES = ['completed', 'failed', 'rejected', 'input_required', 'auth_required'] as const;

export type AnswerState = (typeof STATES)[number];

/**
 * An agent's answer that is more than text: a question, files, data, or a message instead of a task. To give
 * such an answer, the agent prints only `{"a2a": "1.0", "task": {…}}` or `{"a2a": "1.0", "message": {…}}`.
 * The value of `task` or `message` is JSON of the A2A protocol without ids, because the relay assigns the
 * ids.
 */
export interface AgentAnswer {
  readonly state: AnswerState;
  /** True if the agent answered with a message instead of a task. */
  readonly direct: boolean;
  /**
   * Parts of the message, or of the message in the status of the task. Each part has exactly one of text,
   * raw, url and data.
   */
  readonly messageParts: readonly JsonObject[];
  readonly artifacts: readonly AnswerArtifact[];
}

export interface AnswerArtifact {
  readonly name: string;
  readonly description: string;
  readonly parts: readonly JsonObject[];
}

/**
 * Parses an agent's output. Returns null if the output is not an A2A answer. Throws `bad_request` if the
 * output claims to be an A2A answer but is invalid.
 */
export function readAnswer(output: string): AgentAnswer | null {
  const found = jsonObjectIn(output.trim());
  if (found?.a2a !== '1.0') return null;
  const { message, task } = found;
  if ((message === undefined) === (task === undefined))
    throw wrong('it must have either "task" or "message", not both');
  if (message !== undefined)
    return { state: 'completed', direct: true, messageParts: readParts('message', message), artifacts: [] };
  if (!isJsonObject(task)) throw wrong('task is not an object');
  const { status = {}, artifacts = [] } = task;
  if (!isJsonObject(status)) throw wrong('task.status is not an object');
  const named = (state: AnswerState) => `TASK_STATE_${state.toUpperCase()}`;
  const state = STATES.find((each) => named(each) === (status.state ?? named('completed')));
  if (!state) throw wrong(`task.status.state must be one of ${STATES.map(named).join(', ')}`);
  if (!Array.isArray(artifacts)) throw wrong('task.artifacts is not a list');
  if (artifacts.length > A2A_ARTIFACTS) throw wrong(`a task has at most ${A2A_ARTIFACTS} artifacts`);
  const parsed = artifacts.map((artifact, at) => readArtifact(`task.artifacts[${at}]`, artifact));
  if (parsed.reduce((sum, { parts }) => sum + parts.length, 0) > A2A_PARTS)
    throw wrong(`its artifacts have more than ${A2A_PARTS} parts`);
  return {
    state,
    direct: false,
    messageParts: status.message === undefined ? [] : readParts('task.status.message', status.message),
    artifacts: parsed,
  };
}

/** Returns the answer as plain text, for receivers that do not understand A2A. */
export function answerText({ messageParts, artifacts }: AgentAnswer): string {
  const parts = [...messageParts, ...artifacts.flatMap((artifact) => artifact.parts)];
  return parts.map(partText).join('\n');
}

function partText({ text, url, data, filename }: JsonObject): string {
  if (typeof text === 'string') return text;
  if (typeof url === 'string') return url;
  if (data !== undefined) return JSON.stringify(data, null, 2);
  return `(a file${typeof filename === 'string' ? `: ${filename}` : ''})`;
}

function readArtifact(where: string, artifact: Json): AnswerArtifact {
  const parts = readParts(where, artifact);
  const { name = '', description = '' } = artifact as JsonObject;
  if (typeof name !== 'string' || typeof description !== 'string')
    throw wrong(`${where}.name and ${where}.description must be strings`);
  return { name: name.slice(0, NAME_CHARS), description: description.slice(0, NAME_CHARS), parts };
}

function readParts(where: string, holder: Json): JsonObject[] {
  const parts = isJsonObject(holder) ? holder.parts : null;
  if (!Array.isArray(parts) || parts.length === 0)
    throw wrong(`${where}.parts must be a list with at least one part`);
  if (parts.length > A2A_PARTS) throw wrong(`${where}.parts has more than ${A2A_PARTS} parts`);
  return parts.map((part, at) => readPart(`${where}.parts[${at}]`, part));
}

function readPart(where: string, part: Json): JsonObject {
  if (!isJsonObject(part)) throw wrong(`${where} is not an object`);
  const contentKinds = ['text', 'raw', 'url', 'data'].filter((kind) => part[kind] !== undefined);
  const [kind] = contentKinds;
  if (contentKinds.length !== 1) throw wrong(`${where} must have exactly one of text, raw, url and data`);
  const value = part[kind!];
  if (kind !== 'data' && typeof value !== 'string') throw wrong(`${where}.${kind} is not a string`);
  if (kind === 'raw' && !/^[A-Za-z0-9+/]*={0,2}$/.test(value as string))
    throw wrong(`${where}.raw is not base64`);
  if (kind === 'url' && !/^https?:\/\/.{1,2000}$/.test(value as string))
    throw wrong(`${where}.url must be an http:// or https:// address of at most 2000 characters`);
  for (const name of ['filename', 'mediaType']) {
    const text = part[name] ?? '';
    if (typeof text !== 'string' || text.length > NAME_CHARS)
      throw wrong(`${where}.${name} must be a string of at most ${NAME_CHARS} characters`);
  }
  const { filename = '', mediaType = '' } = part;
  return { [kind!]: value!, filename, mediaType };
}

const NAME_CHARS = 256;

function wrong(what: string) {
  return badRequest(
    `The answer is not valid A2A 1.0: ${what}.`,
    'relay bridge start --help shows the format.',
  );
}
