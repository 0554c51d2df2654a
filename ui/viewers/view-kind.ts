/** Kind of viewer. */
export type ViewKind = 'markdown' | 'json' | 'csv' | 'diff' | 'image' | 'text' | 'binary';

export interface About {
  readonly name?: string;
  readonly mime?: string | null;
  readonly type?: string;
}

const IMAGES = /^image\/(?:png|jpeg|gif|webp|avif|bmp|svg\+xml)$/;

/**
 * Chooses the viewer by media type, artifact type and file name. `text` is null if the content is not text.
 */
export function viewKind({ name = '', mime, type }: About, text: string | null): ViewKind {
  const media = (mime ?? '').split(';')[0]!.trim().toLowerCase();
  const ending = /\.([a-z0-9]+)$/i.exec(name)?.[1]?.toLowerCase() ?? '';
  if (IMAGES.test(media)) return 'image';
  if (text === null)
    return ['png', 'jpg', 'jpeg', 'gif', 'webp', 'avif'].includes(ending) ? 'image' : 'binary';
  if (type === 'markdown' || media === 'text/markdown' || ending === 'md') return 'markdown';
  if (type === 'json' || /[/+]json$/.test(media) || ending === 'json') return 'json';
  if (media === 'text/csv' || media === 'text/tab-separated-values' || ['csv', 'tsv'].includes(ending))
    return 'csv';
  if (
    ['diff', 'patch'].includes(ending) ||
    media === 'text/x-diff' ||
    /^(?:diff --git |--- \S.*\n\+\+\+ )/.test(text)
  )
    return 'diff';
  return 'text';
}

/** Returns the media type of an image that is safe for the browser; null otherwise. */
export function imageType({ name = '', mime }: About): string | null {
  const media = (mime ?? '').split(';')[0]!.trim().toLowerCase();
  if (IMAGES.test(media)) return media;
  const ending = /\.([a-z0-9]+)$/i.exec(name)?.[1]?.toLowerCase() ?? '';
  const imageTypes: { [ending: string]: string } = {
    png: 'image/png',
    jpg: 'image/jpeg',
    jpeg: 'image/jpeg',
    gif: 'image/gif',
    webp: 'image/webp',
    avif: 'image/avif',
  };
  return imageTypes[ending] ?? null;
}

const BY_ENDING: { readonly [ending: string]: string } = {
  ts: 'typescript',
  tsx: 'typescript',
  mts: 'typescript',
  js: 'typescript',
  mjs: 'typescript',
  jsx: 'typescript',
  py: 'python',
  sh: 'shellscript',
  bash: 'shellscript',
  yaml: 'yaml',
  yml: 'yaml',
  go: 'go',
  rs: 'rust',
  sql: 'sql',
  css: 'css',
};

/** Returns the language for highlighting by file name; null for plain text. */
export function languageOf(name: string): string | null {
  return BY_ENDING[/\.([a-z]+)$/i.exec(name)?.[1]?.toLowerCase() ?? ''] ?? null;
}
