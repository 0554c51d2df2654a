import type { Context, Hono } from 'hono';
import { RelayError } from '../../base/errors.ts';
import { namesTag } from './request-fields.ts';
import { bytesResponse } from './responses.ts';

/** The dashboard as it was built: a folder of files, wherever the runtime has it. */
export interface DashboardFiles {
  /** A file by its path in the build, packed in a way that the client takes; null where there is none. */
  read(path: string, encodings: string): Promise<DashboardFile | null>;
}

export interface DashboardFile {
  readonly body: Uint8Array;
  readonly type: string;
  readonly encoding: 'br' | null;
  /** Of the content, for `ETag`. */
  readonly hash: string;
}

const TYPES: { readonly [ending: string]: string } = {
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
};

/** The media type of a file in the build; null for a path that no file in it can have. */
export function typeOfFile(path: string): string | null {
  const [, ending] = /^[\w-]+(?:[./][\w-]+)*\.(\w+)$/.exec(path) ?? [];
  return ending !== undefined && Object.hasOwn(TYPES, ending) ? TYPES[ending]! : null;
}

/** Scripts, styles and requests are the relay's own, pictures also what a page has in memory; markup is made by nobody but DOMPurify. */
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

/** Names with a hash in them: whatever changes has another name. */
const HASHED = /^assets\//;

/** The pages at `/ui`. Every address below it that is no file is a page, which the script chooses. */
export function dashboardRoutes(app: Hono, files: DashboardFiles | undefined): void {
  if (!files) return;
  const answer = async (c: Context) => {
    const path = c.req.path.replace(/^\/ui\/?/, '');
    const isFile = HASHED.test(path) || /\.\w+$/.test(path);
    if (!isFile) return pageResponse(c, files, 'index.html');
    const file = await files.read(path, c.req.header('accept-encoding') ?? '');
    if (!file) throw new RelayError('not_found', { what: 'There is nothing at this address.' });
    return fileResponse(c, file, HASHED.test(path));
  };
  app.get('/ui', answer);
  app.get('/ui/*', answer);
}

/** A page of the build. It is the same for every address and never touches what the address names. */
export async function pageResponse(
  c: Context,
  files: DashboardFiles | undefined,
  page: 'index.html' | 'pull.html',
): Promise<Response> {
  const file = await files?.read(page, c.req.header('accept-encoding') ?? '');
  if (file) return fileResponse(c, file, false);
  throw new RelayError('failed', {
    what: 'This relay has no pages for browsers.',
    hint: 'In a clone: npm run build. Everything else works without them; a payload is had with ?raw=1.',
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
  if (namesTag(c.req.header('if-none-match') ?? '', etag)) return bytesResponse(null, 304, headers);
  return bytesResponse(body, 200, { ...headers, 'Content-Length': String(body.byteLength) });
}
