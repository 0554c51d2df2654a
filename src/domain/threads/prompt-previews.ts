import {
  PREVIEW_BYTES,
  PROMPT_LAST_ANSWER_BYTES,
  PROMPT_PASSAGES,
  PROMPT_PREVIEW_BYTES,
  PROMPT_SCANNED,
} from '../../base/limits.ts';
import type { Caller } from '../../contract/caller.ts';
import type { Artifact } from '../../contract/threads/artifacts.ts';
import { cutNear } from '../../text/preview/cut.ts';
import { findPassages, type Passage } from './artifact-search.ts';
import { artifactThere, listArtifacts } from './artifacts.ts';
import type { Head } from './fold.ts';
import type { ThreadRoot } from './keys.ts';
import type { ThreadLog } from './thread-log.ts';

/** What a prompt shows of an artifact. */
export interface ShownPreview {
  readonly artifact: Artifact;
  readonly text: string;
  /** It is not all of the content. */
  readonly cut: boolean;
  /** Where the passages that are shown begin; none where its beginning is shown. */
  readonly lines: readonly number[];
}

interface Wanted {
  /** What is asked; empty where nothing is. */
  readonly words: string;
  /** Pins: these are shown, in this order, before any other. */
  readonly refs: readonly string[];
  /** Artifacts, pins among them. */
  readonly most: number;
}

export interface Previews {
  readonly pinned: readonly ShownPreview[];
  readonly chosen: readonly ShownPreview[];
}

/**
 * Which artifacts a prompt shows, and what of them. The pins, from their beginning; the passages that have to do with what is asked,
 * those of sources before those of what was made from them; what was answered last, since a question may refer to it. Where
 * nothing is asked, or nothing is found, the newest artifacts, sources first. Pins do not depend on the words.
 */
export async function choosePreviews(
  log: ThreadLog,
  caller: Caller,
  { id, root }: Head,
  { words, refs, most }: Wanted,
): Promise<Previews> {
  const pins = await Promise.all(refs.map((ref) => artifactThere(log, root, ref)));
  const pinned = beginnings(pins);
  const passages =
    words === '' || most === 0 ? [] : await findPassages(log, caller, id, words, PROMPT_SCANNED);
  const found = bySource(await withArtifacts(log, root, passages), ({ artifact }) => artifact);
  const shown = new Set(refs);
  const best: Found[] = [];
  for (const passage of found) {
    if (best.length === PROMPT_PASSAGES) break;
    if (!shown.has(passage.ref) && shown.size >= most) continue;
    shown.add(passage.ref);
    best.push(passage);
  }
  const room = Math.max(0, most - shown.size);
  const { artifacts } = await listArtifacts(log, caller, id, { limit: PROMPT_SCANNED, counted: false });
  const others = artifacts.filter(({ ref }) => !shown.has(ref));
  if (best.length === 0) {
    return { pinned, chosen: beginnings(bySource(others, (artifact) => artifact).slice(0, room)) };
  }
  const last = others.filter(isMade).slice(0, Math.min(1, room));
  return { pinned, chosen: [...together(best), ...beginnings(last, PROMPT_LAST_ANSWER_BYTES)] };
}

/** It was made from something else in the thread: an answer, the result of a step or of a capability. */
function isMade({ provenance }: Artifact): boolean {
  return provenance.source_refs.length > 0 || provenance.capability !== null;
}

function bySource<T>(all: readonly T[], artifactOf: (one: T) => Artifact): T[] {
  const made = (one: T) => isMade(artifactOf(one));
  return [...all.filter((one) => !made(one)), ...all.filter(made)];
}

interface Found extends Passage {
  readonly artifact: Artifact;
}

/** What has been deleted since it was indexed is left out. */
async function withArtifacts(
  log: ThreadLog,
  root: ThreadRoot,
  passages: readonly Passage[],
): Promise<Found[]> {
  const refs = [...new Set(passages.map(({ ref }) => ref))];
  const artifacts = await Promise.all(refs.map((ref) => artifactThere(log, root, ref).catch(() => null)));
  return passages.flatMap((passage) => {
    const artifact = artifacts[refs.indexOf(passage.ref)];
    return artifact ? [{ ...passage, artifact }] : [];
  });
}

/** The passages of each artifact, the artifact with the best one first, its passages as they follow each other in it. */
function together(found: readonly Found[]): ShownPreview[] {
  const of = Map.groupBy(found, ({ ref }) => ref);
  return [...of.values()].map((passages) => {
    const ordered = passages.toSorted((a, b) => a.line - b.line);
    const { artifact } = ordered[0]!;
    const text = ordered.map(({ line, text }) => `[line ${line}] ${text}`).join('\n');
    return { artifact, text, cut: true, lines: ordered.map(({ line }) => line) };
  });
}

function beginnings(artifacts: readonly Artifact[], bytes = PROMPT_PREVIEW_BYTES): ShownPreview[] {
  let room = bytes;
  return artifacts.map((artifact, i) => {
    const share = Math.min(PREVIEW_BYTES, Math.floor(room / (artifacts.length - i)));
    const { text, cut } = cutNear(artifact.preview.text, share);
    room -= share;
    return { artifact, text, cut: cut || artifact.preview.truncated, lines: [] };
  });
}
