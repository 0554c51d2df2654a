import type { Context, Hono } from 'hono';
import { RelayError } from '../../base/errors.ts';
import { matchesEtag } from './request-fields.ts';
import { bytesResponse } from './responses.ts';

/** Reads the files of the built dashboard, which each runtime stores in a different place. */
export interface DashboardFiles {
  /**
   * Reads a file by its path in the build. The file is compressed if `encodings` (the Accept-Encoding header)
   * allows it. Returns null if there is no such file.
   */
  read(path: string, encodings: string): Promise<DashboardFile | null>;
}

interface DashboardFile {
  readonly body: Uint8Array;
  readonly type: string;
  readonly encoding: 'br' | null;
  /** Hash of the content, used as the `ETag`. */
  readonly hash: string;
}

const TYPES: { readonly [ending: string]: string } = {
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
};

/** Returns the media type of a file in the build, or null if no file can have this path. */
export function typeOfFile(path: string): string | null {
  const [, ending] = /^[\w-]+(?:[./][\w-]+)*\.(\w+)$/.exec(path) ?? [];
  return ending !== undefined && Object.hasOwn(TYPES, ending) ? TYPES[ending]! : null;
}

/**
 * Content security policy: scripts, styles and requests only from the relay itself, images also from data and
 * blob URLs, and HTML from text only by DOMPurify.
 */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data: blob:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  'trusted-types dompurify',
].join('; ');

/** Matches files with a hash of the content in their names, which browsers may cache forever. */
const HASHED = /^assets\//;

/**
 * Serves the dashboard at `/ui`. Any path that is not a file gets `index.html`, whose script selects the
 * page.
 */
export function dashboardRoutes(app: Hono, files: DashboardFiles | undefined): void {
  if (!files) return;
  const answer = async (c: Context) => {
    const path = c.req.path.replace(/^\/ui\/?/, '');
    // A path that looks like a file may be a page, such as `files/notes.md`. Files of the build are in
    // `assets/` or at the top.
    const isFile = HASHED.test(path) || /^[^/]+\.\w+$/.test(path);
    if (!isFile) return pageResponse(c, files, 'index.html');
    const file = await files.read(path, c.req.header('accept-encoding') ?? '');
    if (!file) throw new RelayError('not_found', { what: 'this page' });
    return fileResponse(c, file, HASHED.test(path));
  };
  app.get('/ui', answer);
  app.get('/ui/*', answer);
}

/** Serves an HTML page of the build, which is the same for every URL and contains no stored data. */
export async function pageResponse(
  c: Context,
  files: DashboardFiles | undefined,
  page: 'index.html' | 'pull.html',
): Promise<Response> {
  const file = await files?.read(page, c.req.header('accept-encoding') ?? '');
  if (file) return fileResponse(c, file, false);
  throw new RelayError('failed', {
    what: 'This relay was installed without its web pages.',
    hint: 'In a git clone, run: npm run build. To read a payload without the pages, add ?raw=1.',
  });
}

function fileResponse(c: Context, { body, type, encoding, hash }: DashboardFile, forEver: boolean): Response {
  const etag = `"${hash}"`;
  const headers = {
    'Content-Type': type,
    'Content-Security-Policy': POLICY,
    'Cache-Control': forEver ? 'public, max-age=31536000, immutable' : 'no-cache',
    Vary: 'Accept, Accept-Encoding',
    ETag: etag,
    ...(encoding ? { 'Content-Encoding': encoding } : {}),
  };
  if (matchesEtag(c.req.header('if-none-match') ?? '', etag)) return bytesResponse(null, 304, headers);
  return bytesResponse(body, 200, { ...headers, 'Content-Length': String(body.byteLength) });
}
