import { badRequest } from '../../base/errors.ts';
import { sha256Hex } from '../../base/hash.ts';
import type { TokenCounter } from '../../base/tokens.ts';
import type { ThreadsApi } from '../../contract/threads.ts';
import type { Bundle, PromptRequest } from './types.ts';

/** A prompt that the relay makes of a thread, with what a model is told about patches. Nothing depends on when it is made. */
export async function makeBundle(
  threads: ThreadsApi,
  tokens: TokenCounter,
  { thread_id, ...request }: PromptRequest,
): Promise<Bundle> {
  const words = request.words.trim();
  if (words === '') throw badRequest('The prompt is empty.');
  // Once it is answered, its event tells the ledger.
  const o = { ...request, words, format: 'anthropic', dry: true } as const;
  const { header, artifacts, pasted, ...made } = await threads.render(thread_id, o);
  const system = `${made.system}\n\n${PATCH}`;
  const user = made.messages[0]!.content;
  const counted = await tokens.count(`${system}\n${user}`);
  const said = [system, header, artifacts.map(({ ref, size, ...content }) => content), words];
  return {
    thread_id: made.thread_id,
    state_ref: made.state_ref,
    system,
    user,
    stable: user.slice(0, made.stable),
    words,
    artifacts,
    fingerprint: await sha256Hex(JSON.stringify(said)),
    tokens: counted,
    pasted: { ...pasted, tokens: pasted.tokens + counted.tokens - made.tokens.tokens },
  };
}

const PATCH = [
  'If there is something to remember for later steps, end your answer with a fenced block',
  'whose language is relay-patch and which holds a JSON Patch: an array of operations "add" and "replace"',
  'on items of /facts, /constraints, /open_questions, /decisions and /plan, or on /session_summary.',
  'For example: [{"op":"add","path":"/facts/-","value":{"key":"language","value":"TypeScript"}},',
  '{"op":"replace","path":"/plan/2/status","value":"done"}]. A fact is set anew by adding it again under its key.',
  'Leave the block out when there is nothing to remember.',
].join(' ');
