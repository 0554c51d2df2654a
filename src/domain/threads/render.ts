import { badRequest, tooLarge } from '../../base/errors.ts';
import {
  PREVIEW_BYTES,
  PROMPT_ANSWER_BYTES,
  PROMPT_CONVERSATION_BYTES,
  PROMPT_NAMES,
  PROMPT_PASSAGES,
  PROMPT_PREVIEW_BYTES,
  PROMPT_PREVIEWS,
  PROMPT_SCANNED,
  PROMPT_WORDS_BYTES,
  VIEW_TOKENS,
  VIEW_TOKENS_MAX,
} from '../../base/limits.ts';
import type { TokenCount } from '../../base/tokens.ts';
import { utf8Bytes } from '../../base/utf8.ts';
import type { Caller } from '../../contract/caller.ts';
import {
  type Artifact,
  isReport,
  partlyShown,
  type RenderedMessage,
  type RenderOptions,
  type ShownArtifact,
  type State,
} from '../../contract/threads.ts';
import { artifactFrame, FRAMES_ARE_DATA, oneLine } from '../../text/frame.ts';
import { cutNear } from '../../text/preview/cut.ts';
import { neutralise } from '../../text/sanitize/neutralise.ts';
import { checkCount } from '../names.ts';
import { storeSecret } from '../store-secret.ts';
import { workFor } from '../text-work.ts';
import { findPassages, type Passage } from './artifact-search.ts';
import { listArtifacts, readLiveArtifact } from './artifacts.ts';
import type { Head } from './fold.ts';
import type { ThreadRoot } from './keys.ts';
import { versionRef } from './state.ts';
import { stateView, VIEW_LISTS, type ViewOptions } from './state-view.ts';
import type { ThreadLog, ThreadVerb } from './thread-log.ts';

const DEFAULT_SYSTEM = [
  'You continue work that is stored in a relay thread. Its state follows as lists under their paths:',
  '/constraints, /decisions, /facts, /open_questions, /plan and others. A number before an item is its index in the list.',
].join(' ');

/** For each kind of reader: the text that says how to get the items that a view leaves out. */
const MORE: { readonly [reader in NonNullable<RenderOptions['reader']>]: ViewOptions['more'] } = {
  tools: () => 'Use search, or pull a list.',
  shell: (lists) => `Print them with: ${lists.map((list) => `relay state get /${list}`).join('; ')}`,
  none: () => '',
};

/**
 * Renders a thread as a prompt: system message, pinned artifacts, state, earlier turns, chosen previews,
 * question. Parts that change least come first, so that providers can cache them. The text does not depend
 * on the current time. The prompt is added to the ledger unless `dry` is set.
 */
export const renderThread: ThreadVerb<'render'> = async (log, caller, id, o = {}) => {
  const promptText = checkText('a prompt', o.words);
  const customSystem = checkText('a system text', o.system);
  const head = await log.head(caller, id);
  const { state, version } = head;
  const texts = workFor(caller, log.deps.texts);
  const most = Math.min(o.previews ?? PROMPT_PREVIEWS, PROMPT_PREVIEWS);
  // Leave the artifacts out of the view of the state: every answer adds an artifact, and providers can cache the view
  // only while it stays the same. The prompt shows previews of artifacts after the view.
  const view = await stateView(state, texts, {
    lists: VIEW_LISTS.filter((list) => list !== 'artifacts'),
    tokens: checkCount('state_tokens', o.state_tokens ?? VIEW_TOKENS, VIEW_TOKENS_MAX),
    question: promptText,
    more: MORE[o.reader ?? 'shell'],
  });
  const turns = promptText === '' || most === 0 ? [] : await recentTurns(log, head);
  const { pinned, chosen, others } = await choosePreviews(log, caller, head, {
    promptText,
    refs: checkRefs(o.refs),
    most,
    turns,
  });
  const secret = storeSecret(log.deps);
  const framed = (all: readonly ShownPreview[]) =>
    Promise.all(all.map(({ artifact, lines: _, ...item }) => artifactFrame(artifact, secret, item)));
  const system = `${customSystem || DEFAULT_SYSTEM}\n\n${FRAMES_ARE_DATA}`;
  const task = promptText === '' ? [] : [`Your task:\n${promptText}`];
  const start = [...(await framed(pinned)), view.text].filter((part) => part !== '').join('\n\n');
  const names = others.slice(0, PROMPT_NAMES).map(({ name }) => oneLine(name, 60));
  const unshown =
    names.length > 0 ? `Other artifacts: ${names.join(', ')}${others[PROMPT_NAMES] ? ', …' : ''}` : '';
  const parts = [start, conversationText(turns), ...(await framed(chosen)), unshown, ...task];
  const user = parts.filter((part) => part !== '').join('\n\n');
  const tokens = await texts.count(`${system}\n${user}`);
  const groups = [...Map.groupBy([...pinned, ...chosen, ...turns], ({ artifact }) => artifact.ref).values()];
  const artifacts = groups.map(([one]) => one!.artifact);
  const transcript = turns.map(({ question }) => question).join('\n');
  const pastedText = [plainLines(state), transcript, ...task].filter((part) => part !== '').join('\n\n');
  const pasted = addContentTokens(await texts.count(`${system}\n${pastedText}`), artifacts);
  if (!o.dry) log.ledger.recordPrompt(head.root, { prompt: tokens, pasted });
  const partial = [
    ...(view.shown < view.items ? [`${view.shown} of ${view.items} items of the state`] : []),
    ...pinned
      .filter(({ cut }) => cut)
      .map(({ artifact }) => partlyShown(artifact, shownBytes([...pinned, ...chosen], artifact))),
  ];
  const { format = 'openai' } = o;
  const message: RenderedMessage = { role: 'user', content: user };
  const messages =
    format === 'openai' ? ([{ role: 'system', content: system }, message] as const) : [message];
  return {
    format,
    thread_id: id,
    state_ref: versionRef(version),
    truncated: view.truncated,
    ...(format === 'anthropic' ? { system } : {}),
    messages,
    header: view.text,
    stable: start.length - view.text.length + view.stable,
    artifacts: groups.map(describeShown),
    ...(partial.length > 0 ? { partial } : {}),
    tokens,
    pasted,
  };
};

/** Returns how many bytes of an artifact the previews and passages of a prompt contain. */
function shownBytes(all: readonly ShownPreview[], { ref }: Artifact): number {
  const texts = all.filter(({ artifact }) => artifact.ref === ref).map(({ text }) => text);
  return utf8Bytes(texts.join('').replace(/^\[line \d+\] …?|…$/gm, ''));
}

/**
 * Describes an artifact that the prompt shows. A pinned artifact can have two parts in the prompt: its
 * beginning, and passages that match the question.
 */
function describeShown(shownParts: readonly ShownPreview[]): ShownArtifact {
  const { ref, type, name, size, hash, provenance } = shownParts[0]!.artifact;
  const lines = shownParts.flatMap((part) => part.lines);
  const question = shownParts.find((part) => part.question !== undefined)?.question;
  return {
    ref,
    type,
    name,
    size,
    hash,
    created_by: provenance.created_by,
    ...(lines.length > 0 ? { lines } : {}),
    ...(question === undefined ? {} : { question }),
  };
}

function addContentTokens(pastedText: TokenCount, all: readonly Artifact[]): TokenCount {
  const artifacts = all.filter((artifact) => !isReport(artifact));
  return {
    ...pastedText,
    tokens: artifacts.reduce((sum, { tokens }) => sum + tokens.content, pastedText.tokens),
    estimated: pastedText.estimated || artifacts.some(({ tokens }) => tokens.estimated),
  };
}

/**
 * Formats the whole state as a person would paste it: one line per item, without ids, authors and times.
 * Leaves out past actions and links to artifacts, because they are only bookkeeping.
 */
function plainLines(state: State): string {
  const withStatus = (text: string, status = '') => (status === '' ? text : `${text} (${status})`);
  return [
    ...state.constraints.map(({ description, severity }) => withStatus(description, severity)),
    ...state.decisions.map(({ description }) => description),
    ...state.open_questions.map(({ question, status }) => withStatus(question, status)),
    ...state.plan.map(({ step, status }) => withStatus(step, status)),
    ...state.facts.map(
      ({ key, value }) => `${key}: ${typeof value === 'string' ? value : JSON.stringify(value)}`,
    ),
    ...(state.session_summary ? [state.session_summary] : []),
  ].join('\n');
}

function checkText(what: string, text = ''): string {
  if (utf8Bytes(text) <= PROMPT_WORDS_BYTES) return text.trim();
  const hint =
    'Store the material as an artifact, for example with --attach FILE. The prompt then shows a preview, and the model can pull the rest.';
  throw tooLarge(what, PROMPT_WORDS_BYTES, hint);
}

function checkRefs(refs: readonly string[] = []): readonly string[] {
  const uniqueRefs = [...new Set(refs)];
  if (uniqueRefs.length <= PROMPT_PREVIEWS) return uniqueRefs;
  throw badRequest(
    `A prompt shows at most ${PROMPT_PREVIEWS} artifacts, but ${uniqueRefs.length} are named.`,
    'Name fewer artifacts in "refs", or with --with and --attach.',
  );
}

/** The part of an artifact that a prompt shows. */
interface ShownPreview {
  readonly artifact: Artifact;
  readonly text: string;
  /** True if the content is longer than `text`. */
  readonly cut: boolean;
  /** Line numbers at which the shown passages begin; empty if the beginning of the content is shown. */
  readonly lines: readonly number[];
  /** The question that the artifact answers, if the prompt shows the artifact as an earlier answer. */
  readonly question?: string;
}

interface PreviewRequest {
  /** The question; empty if there is none. */
  readonly promptText: string;
  /** Pinned artifacts, shown first and in this order. */
  readonly refs: readonly string[];
  /** Maximum number of artifacts, including pinned ones. */
  readonly most: number;
  /** Earlier questions and answers that the prompt shows. Their answers are not shown again as artifacts. */
  readonly turns: readonly Turn[];
}

/**
 * Chooses the artifacts that a prompt shows. First come the beginnings of pinned artifacts. Then come passages that
 * match the question: passages of sources first, then passages of derived artifacts. Last comes the newest derived
 * artifact, such as the result of a step, because the question may refer to it. If there is no question or no passage
 * matches, the newest artifacts follow the pinned ones, sources first.
 */
async function choosePreviews(
  log: ThreadLog,
  caller: Caller,
  { id, root, state }: Head,
  { promptText, refs, most, turns }: PreviewRequest,
) {
  const pins = await Promise.all(refs.map((ref) => readLiveArtifact(log, root, ref)));
  const pinned = previewBeginnings(pins);
  const passages =
    promptText === '' || most === 0 ? [] : await findPassages(log, caller, id, promptText, PROMPT_SCANNED);
  const wholeTurns = new Set(turns.flatMap(({ artifact, cut }) => (cut ? [] : [artifact.ref])));
  const unseen = passages.filter(({ ref }) => !wholeTurns.has(ref));
  const found = sourcesFirst(await withArtifacts(log, root, unseen), ({ artifact }) => artifact);
  const shownRefs = new Set(refs);
  const best: Found[] = [];
  for (const passage of found) {
    if (best.length === PROMPT_PASSAGES) break;
    if (!shownRefs.has(passage.ref) && shownRefs.size >= most) continue;
    shownRefs.add(passage.ref);
    best.push(passage);
  }
  const room = Math.max(0, most - shownRefs.size);
  const { artifacts } = await listArtifacts(log, caller, id, { limit: PROMPT_SCANNED, counted: false });
  // Leave out the answers to earlier questions: the turns show the newest answers, and the search finds older
  // ones.
  const answers = new Set(state.last_actions.map(({ question, result_ref }) => question && result_ref));
  const others = artifacts.filter(
    ({ ref }) => !shownRefs.has(ref) && (promptText === '' || !answers.has(ref)),
  );
  const begun =
    best.length === 0
      ? sourcesFirst(others, (artifact) => artifact).slice(0, room)
      : others.filter(isDerived).slice(0, Math.min(1, room));
  const bytes = best.length === 0 ? PROMPT_PREVIEW_BYTES : PROMPT_ANSWER_BYTES;
  return {
    pinned,
    chosen: [...groupPassages(best), ...previewBeginnings(begun, bytes)],
    // The prompt lists the names of the other artifacts, newest first. If only pinned artifacts are wanted, it lists
    // no names.
    others: most > refs.length ? others.filter((one) => !begun.includes(one) && !isReport(one)) : [],
  };
}

/** A question that a model was asked in this thread, and its answer. */
type Turn = ShownPreview & { readonly question: string };

/** Matches the patch at the end of an answer. It is cut off, because it is already part of the state. */
const PATCH_BLOCK = /\n*(?:`{3,}|~{3,})[ \t]*relay-patch[\s\S]*$/;

/** Returns the newest turns that fit into a prompt, oldest first. A long answer is cut. */
async function recentTurns(log: ThreadLog, { root, state }: Head): Promise<Turn[]> {
  const turns: Turn[] = [];
  let room = PROMPT_CONVERSATION_BYTES;
  for (const { question, result_ref: ref } of state.last_actions.toReversed()) {
    if (typeof question !== 'string' || ref === undefined) continue;
    const artifact = await readLiveArtifact(log, root, ref).catch(() => null);
    if (artifact === null) continue;
    const answer = artifact.preview.text.replace(PATCH_BLOCK, '').trim();
    const { text, cut } = cutNear(neutralise(answer), PROMPT_ANSWER_BYTES);
    const askedText = neutralise(question).replace(/\s+/g, ' ');
    const isCut = cut || (artifact.preview.truncated && !PATCH_BLOCK.test(artifact.preview.text));
    const turn = { artifact, question: askedText, text: text.trim(), cut: isCut, lines: [] };
    room -= utf8Bytes(turnText(turn));
    if (room < 0) break;
    turns.unshift(turn);
  }
  return turns;
}

function conversationText(turns: readonly Turn[]): string {
  return turns.length === 0 ? '' : ['Earlier questions (>) and answers:', ...turns.map(turnText)].join('\n');
}

function turnText({ artifact, question, text, cut }: Turn): string {
  return `> ${question}\n${text}${cut ? ` [part of answer ${artifact.ref}]` : ''}`;
}

/**
 * Returns whether an artifact was derived from other artifacts of the thread. Answers and results of steps or
 * capabilities are derived.
 */
function isDerived({ provenance }: Artifact): boolean {
  return provenance.source_refs.length > 0 || provenance.capability !== null;
}

function sourcesFirst<T>(all: readonly T[], artifactOf: (one: T) => Artifact): T[] {
  const isMade = (one: T) => isDerived(artifactOf(one));
  return [...all.filter((one) => !isMade(one)), ...all.filter(isMade)];
}

interface Found extends Passage {
  readonly artifact: Artifact;
}

/**
 * Adds the artifact to each passage. Drops passages of artifacts that were deleted after they were indexed.
 */
async function withArtifacts(
  log: ThreadLog,
  root: ThreadRoot,
  passages: readonly Passage[],
): Promise<Found[]> {
  const refs = [...new Set(passages.map(({ ref }) => ref))];
  const artifacts = await Promise.all(refs.map((ref) => readLiveArtifact(log, root, ref).catch(() => null)));
  return passages.flatMap((passage) => {
    const artifact = artifacts[refs.indexOf(passage.ref)];
    return artifact ? [{ ...passage, artifact }] : [];
  });
}

/**
 * Groups passages by artifact, best artifact first. Within an artifact, passages are in the order of the
 * text.
 */
function groupPassages(found: readonly Found[]): ShownPreview[] {
  const shownParts = Map.groupBy(found, ({ ref }) => ref);
  return [...shownParts.values()].map((passages) => {
    const ordered = passages.toSorted((a, b) => a.line - b.line);
    const { artifact } = ordered[0]!;
    const text = ordered.map(({ line, text }) => `[line ${line}] ${text}`).join('\n');
    return { artifact, text, cut: true, lines: ordered.map(({ line }) => line) };
  });
}

function previewBeginnings(artifacts: readonly Artifact[], bytes = PROMPT_PREVIEW_BYTES): ShownPreview[] {
  let room = bytes;
  return artifacts.map((artifact, i) => {
    const share = Math.min(PREVIEW_BYTES, Math.floor(room / (artifacts.length - i)));
    const { text, cut } = cutNear(artifact.preview.text, share);
    room -= share;
    return { artifact, text, cut: cut || artifact.preview.truncated, lines: [] };
  });
}
