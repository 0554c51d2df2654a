import { ARTIFACT_TYPES, type Artifact, type ArtifactKind } from '../../contract/threads.ts';

export const MEDIA_TYPE = /^[\w.+-]{1,64}\/[\w.+-]{1,64}(?:;[ -~]{0,120})?$/;

interface Kind {
  readonly ext: string;
  readonly mime: string;
}

export const KINDS: { readonly [type in ArtifactKind]: Kind } = {
  markdown: { ext: 'md', mime: 'text/markdown' },
  json: { ext: 'json', mime: 'application/json' },
  html: { ext: 'html', mime: 'text/html' },
  text: { ext: 'txt', mime: 'text/plain' },
  binary: { ext: 'bin', mime: 'application/octet-stream' },
  tool_output: { ext: 'log', mime: 'text/plain' },
  email: { ext: 'eml', mime: 'message/rfc822' },
};

const BY_EXT: { readonly [ext: string]: ArtifactKind } = {
  md: 'markdown',
  markdown: 'markdown',
  json: 'json',
  geojson: 'json',
  html: 'html',
  htm: 'html',
  xhtml: 'html',
  eml: 'email',
};

const BINARY_EXT =
  /^(?:png|jpe?g|gif|webp|pdf|zip|gz|tar|tgz|bz2|xz|7z|exe|bin|so|dylib|wasm|mp[34]|wav|ogg|mov|avi|sqlite|db|docx|xlsx|pptx|woff2?|ttf|ico)$/;

/** Guesses the type of an artifact from its name, then from its media type. */
export function guessType(name: string, mime: string | undefined): ArtifactKind {
  const ext = /\.([a-z0-9]{1,10})$/i.exec(name)?.[1]?.toLowerCase() ?? '';
  const byExtension = Object.hasOwn(BY_EXT, ext) ? BY_EXT[ext] : undefined;
  if (byExtension) return byExtension;
  if (BINARY_EXT.test(ext)) return 'binary';
  const media = mime?.split(';')[0]?.trim().toLowerCase() ?? '';
  for (const [type, kind] of Object.entries(KINDS)) {
    if (kind.mime === media && type !== 'tool_output') return type as ArtifactKind;
  }
  if (/[/+]json$/.test(media)) return 'json';
  return media === '' || media.startsWith('text/') ? 'text' : 'binary';
}

/**
 * Returns the kind of an artifact. For a built-in type, the kind is the type. For a custom type, the kind is
 * text or binary, guessed from name and media type.
 */
export function artifactKind({ type, name, mime }: Pick<Artifact, 'type' | 'name' | 'mime'>): ArtifactKind {
  const builtIn = ARTIFACT_TYPES.find((kind) => kind === type);
  return builtIn ?? (guessType(name, mime) === 'binary' ? 'binary' : 'text');
}

/** Returns the file extension under which the content is stored. */
export function extensionOf(artifact: Pick<Artifact, 'type' | 'name' | 'mime'>): string {
  return KINDS[artifactKind(artifact)].ext;
}
