import { badRequest, tooLarge } from '../../base/errors.ts';
import { PROMPT_PREVIEWS, PROMPT_WORDS_BYTES } from '../../base/limits.ts';
import type { TokenCount } from '../../base/tokens.ts';
import { utf8Bytes } from '../../base/utf8.ts';
import type { Artifact } from '../../contract/threads/artifacts.ts';
import type { RenderedMessage, ShownArtifact } from '../../contract/threads/tokens.ts';
import { artifactFrame, FRAMES_ARE_DATA } from '../../text/frame.ts';
import { StoreSecret } from '../store-secret.ts';
import { workFor } from '../text-work.ts';
import { headerText } from './header-text.ts';
import { choosePreviews, type ShownPreview } from './prompt-previews.ts';
import { versionRef } from './state.ts';
import type { ThreadVerb } from './thread-log.ts';

const WORK = [
  'You continue work that is kept in a relay thread. What is known of it stands under the paths of its state:',
  '/constraints, /decisions, /facts, /open_questions, /plan and others. A number before an item is its index there.',
].join(' ');

/**
 * A prompt made of a thread: the system message; what is pinned; the state; the previews that were chosen; the words. What
 * changes least comes first, so that a provider can cache it. Nothing depends on when it is made. It goes into the
 * ledger, except where it is `dry`.
 */
export const renderThread: ThreadVerb<'render'> = async (log, caller, id, o = {}) => {
  const words = checkedText('a prompt', o.words);
  const own = checkedText('a system text', o.system);
  const head = await log.head(caller, id);
  const { state, version } = head;
  const texts = workFor(caller, log.deps.texts);
  const { text, truncated } = await headerText(state, texts);
  const { pinned, chosen } = await choosePreviews(log, caller, head, {
    words,
    refs: checkedRefs(o.refs),
    most: Math.min(o.previews ?? PROMPT_PREVIEWS, PROMPT_PREVIEWS),
  });
  const store = new StoreSecret(log.deps);
  const framed = (all: readonly ShownPreview[]) =>
    Promise.all(
      all.map(({ artifact, lines: _, ...shown }) => artifactFrame(artifact, () => store.bytes(), shown)),
    );
  const system = `${own || WORK}\n\n${FRAMES_ARE_DATA}`;
  const asked = words === '' ? [] : [`What is asked of you:\n${words}`];
  const stable = [...(await framed(pinned)), text].filter((part) => part !== '').join('\n\n');
  const user = [stable, ...(await framed(chosen)), ...asked].filter((part) => part !== '').join('\n\n');
  const tokens = await texts.count(`${system}\n${user}`);
  const shown = [...Map.groupBy([...pinned, ...chosen], ({ artifact }) => artifact.ref).values()];
  const artifacts = shown.map(([one]) => one!.artifact);
  const whole = await texts.count(`${system}\n${JSON.stringify(state)}\n${words}`);
  const pasted = withContents(whole, artifacts);
  if (!o.dry) log.ledger.prompted(head.root, { shown: tokens, pasted });
  const { format = 'openai' } = o;
  const message: RenderedMessage = { role: 'user', content: user };
  const messages =
    format === 'openai' ? ([{ role: 'system', content: system }, message] as const) : [message];
  return {
    format,
    thread_id: id,
    state_ref: versionRef(version),
    truncated,
    ...(format === 'anthropic' ? { system } : {}),
    messages,
    header: text,
    stable: stable.length,
    artifacts: shown.map(told),
    tokens,
    pasted,
  };
};

/** Of an artifact that is pinned, passages may be shown too. */
function told(of: readonly ShownPreview[]): ShownArtifact {
  const { ref, type, name, size, hash, provenance } = of[0]!.artifact;
  const lines = of.flatMap((shown) => shown.lines);
  return {
    ref,
    type,
    name,
    size,
    hash,
    created_by: provenance.created_by,
    ...(lines.length > 0 ? { lines } : {}),
  };
}

function withContents(whole: TokenCount, artifacts: readonly Artifact[]): TokenCount {
  return {
    ...whole,
    tokens: artifacts.reduce((sum, { tokens }) => sum + tokens.content, whole.tokens),
    estimated: whole.estimated || artifacts.some(({ tokens }) => tokens.estimated),
  };
}

function checkedText(what: string, text = ''): string {
  if (utf8Bytes(text) <= PROMPT_WORDS_BYTES) return text.trim();
  const hint =
    'Put the material into an artifact, as --attach FILE does; its preview travels, and the rest is a pull away.';
  throw tooLarge(what, PROMPT_WORDS_BYTES, hint);
}

function checkedRefs(refs: readonly string[] = []): readonly string[] {
  const once = [...new Set(refs)];
  if (once.length <= PROMPT_PREVIEWS) return once;
  throw badRequest(`A prompt shows ${PROMPT_PREVIEWS} artifacts at most; ${once.length} are pinned.`);
}
