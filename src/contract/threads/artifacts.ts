import { CONTENT_KINDS } from '../../base/content-kinds.ts';
import type { TokenCount } from '../../base/tokens.ts';
import type { BlobBody, ByteRange } from '../../kernel/blobs.ts';
import type { CountedPart } from '../../text/parts/part-budget.ts';
import type { Preview } from '../../text/preview/preview.ts';

export const ARTIFACT_TYPES = CONTENT_KINDS;
export type ArtifactKind = (typeof ARTIFACT_TYPES)[number];
/** One of the types above, or one of somebody's own, which is kept as it is and treated as text or as binary. */
export type ArtifactType = ArtifactKind | (string & {});
/** What a type of one's own may look like; it travels in headers and stands in prompts. */
export const ARTIFACT_TYPE = /^[A-Za-z0-9][\w.+/-]{0,63}$/;

export type { Preview };

export interface Provenance {
  readonly created_by: string;
  readonly created_at: string;
  readonly source_refs: readonly string[];
  readonly capability: string | null;
}

export interface ArtifactTokens extends Omit<TokenCount, 'tokens'> {
  readonly content: number;
  readonly preview: number;
}

export interface Artifact {
  readonly ref: string;
  readonly thread_id: string;
  readonly type: ArtifactType;
  readonly mime: string;
  readonly name: string;
  readonly size: number;
  /** SHA-256, lowercase hex. */
  readonly hash: string;
  readonly preview: Preview;
  readonly provenance: Provenance;
  readonly tokens: ArtifactTokens;
  readonly created_at: string;
  /** Where its file is below the home of the relay that has it; absent where the content is gone. */
  readonly path?: string;
  /** Its content is gone for good; only a deleted one has this. */
  readonly deleted_at?: string;
}

export interface ArtifactFields {
  readonly name?: string;
  /** Told from name and media type where it is missing. */
  readonly type?: ArtifactType;
  readonly mime?: string;
  readonly source_refs?: readonly string[];
}

export interface ArtifactInput extends ArtifactFields {
  readonly body: BlobBody;
  readonly size?: number;
  readonly idempotency_key?: string;
  /** Fields that are known only once the body has been read; they count instead of those above, which are what is likely. */
  readonly late?: () => ArtifactFields;
}

export interface ArtifactCreated extends Artifact {
  /** The version that refers to it. */
  readonly state_ref: string;
}

export interface ArtifactContent {
  readonly artifact: Artifact;
  readonly body: BlobBody;
  readonly range?: ByteRange;
}

/** Which part, one of the four, and how much of it at most. */
export interface PartInput {
  /** `10-40`, `10-`, `-20` or `7`. */
  readonly lines?: string;
  /** RE2 syntax. */
  readonly grep?: string;
  /** Lines around each match. */
  readonly context?: number;
  readonly ignore_case?: boolean;
  /** An RFC 6901 pointer. */
  readonly json?: string;
  readonly outline?: boolean;
  readonly max_tokens?: number;
}

export interface ArtifactPart extends CountedPart {}
