import { type Message, type Part, type StreamResponse, type Task, TaskState } from '@a2a-js/sdk';
import type { Json, JsonObject } from '../../base/json.ts';
import type { AgentOutcome, AgentPart } from '../../client/bridge/remote-agent.ts';

export function outcomeOf(answer: Task | Message): AgentOutcome {
  if ('messageId' in answer) {
    const { contextId: context_id, parts } = answer;
    return { task_id: null, context_id, state: 'completed', note: null, parts: parts.map(shown) };
  }
  const { id, contextId, status, artifacts } = answer;
  return {
    task_id: id,
    context_id: contextId,
    state: stateName(status?.state),
    note: words(status?.message?.parts),
    parts: artifacts.flatMap(({ parts }) => parts.map(shown)),
  };
}

/** The outcome with what a stream added to it. */
export function advanced(outcome: AgentOutcome | null, { payload }: StreamResponse): AgentOutcome | null {
  if (payload?.$case === 'task' || payload?.$case === 'message') return outcomeOf(payload.value);
  if (!outcome || !payload) return outcome;
  if (payload.$case === 'statusUpdate') {
    const { status } = payload.value;
    return { ...outcome, state: stateName(status?.state), note: words(status?.message?.parts) };
  }
  const { artifact, append } = payload.value;
  const added = artifact?.parts.map(shown) ?? [];
  // Pieces of one text come one after the other.
  const [last, next] = [outcome.parts.at(-1), added[0]];
  if (append && added.length === 1 && last && next && 'text' in last && 'text' in next)
    return { ...outcome, parts: [...outcome.parts.slice(0, -1), { text: last.text + next.text }] };
  return { ...outcome, parts: [...outcome.parts, ...added] };
}

export function isFinal(state: string): boolean {
  return ['completed', 'failed', 'canceled', 'rejected', 'input_required', 'auth_required'].includes(state);
}

/** What the agent answered, as an answer of ours (`src/client/bridge/answer.ts`). */
export function answerOf({ task_id, state, note, parts }: AgentOutcome): JsonObject {
  const given = parts.map((part): JsonObject => {
    if ('text' in part || 'data' in part) return { ...part };
    const { name: filename, media_type: mediaType, ...content } = part;
    return { ...content, filename, mediaType };
  });
  if (task_id === null) return { a2a: '1.0', message: { parts: given } };
  const said: JsonObject = note === null ? {} : { message: { parts: [{ text: note }] } };
  const status: JsonObject = isFinal(state)
    ? { state: `TASK_STATE_${(state === 'canceled' ? 'failed' : state).toUpperCase()}`, ...said }
    : { state: 'TASK_STATE_FAILED', message: { parts: [{ text: `The agent left it ${state}.` }] } };
  return { a2a: '1.0', task: { status, artifacts: given.length > 0 ? [{ parts: given }] : [] } };
}

function stateName(state: TaskState | undefined): string {
  return (TaskState[state ?? 0] ?? 'unspecified').replace('TASK_STATE_', '').toLowerCase();
}

function shown({ content, filename, mediaType }: Part): AgentPart {
  if (content?.$case === 'text') return { text: content.value };
  if (content?.$case === 'url') return { url: content.value, name: filename, media_type: mediaType };
  if (content?.$case === 'data') return { data: content.value as Json };
  if (content?.$case !== 'raw') return { text: '' };
  return { raw: content.value.toString('base64'), name: filename, media_type: mediaType };
}

function words(parts: readonly Part[] | undefined): string | null {
  const text = parts?.map(shown).flatMap((part) => ('text' in part ? [part.text] : []));
  return text?.join('\n') || null;
}
