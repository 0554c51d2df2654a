import { PREVIEW_BYTES } from '../../base/limits.ts';
import { PROMPT_PREVIEW_BYTES } from '../../base/prompt-limits.ts';
import type { Caller } from '../../contract/caller.ts';
import type { Artifact } from '../../contract/threads/artifacts.ts';
import { cutNear } from '../../text/preview/cut.ts';
import { artifactThere, listArtifacts } from './artifacts.ts';
import type { ThreadLog } from './thread-log.ts';

/** What a prompt shows of an artifact. */
export interface ShownPreview {
  readonly artifact: Artifact;
  readonly text: string;
  /** It is not all of the content. */
  readonly cut: boolean;
}

interface Wanted {
  /** What is asked; empty where nothing is. */
  readonly words: string;
  /** Pins: these are shown, in this order, before any other. */
  readonly refs: readonly string[];
  readonly most: number;
}

/** Which artifacts a prompt shows, and what of them. All previews together have a bounded number of bytes. */
export async function choosePreviews(
  log: ThreadLog,
  caller: Caller,
  id: string,
  { refs, most }: Wanted,
): Promise<{ readonly pinned: readonly ShownPreview[]; readonly chosen: readonly ShownPreview[] }> {
  const pins = await Promise.all(refs.map((ref) => artifactThere(log, id, ref)));
  const { artifacts } = await listArtifacts(log, caller, id, { limit: most + refs.length });
  const others = artifacts.filter(({ ref }) => !refs.includes(ref)).slice(0, Math.max(0, most - pins.length));
  let room = PROMPT_PREVIEW_BYTES;
  const shown = [...pins, ...others].map((artifact, i, all): ShownPreview => {
    const share = Math.min(PREVIEW_BYTES, Math.floor(room / (all.length - i)));
    const { text, cut } = cutNear(artifact.preview.text, share);
    room -= share;
    return { artifact, text, cut: cut || artifact.preview.truncated };
  });
  return { pinned: shown.slice(0, pins.length), chosen: shown.slice(pins.length) };
}
