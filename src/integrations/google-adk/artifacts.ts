import type {
  ArtifactVersion,
  BaseArtifactService,
  DeleteArtifactRequest,
  ListArtifactKeysRequest,
  ListVersionsRequest,
  LoadArtifactRequest,
  SaveArtifactRequest,
} from '@google/adk';
import type { Part } from '@google/genai';
import { fromBase64, toBase64 } from '../../base/base64.ts';
import { badRequest, isRelayError } from '../../base/errors.ts';
import type { JsonObject } from '../../base/json.ts';
import type { FileInfo } from '../../contract/files.ts';
import type { ContextRelay } from '../../sdk/context-relay.ts';
import type { FileSpace } from '../../sdk/files.ts';
import { filesBelow, segment, segments } from '../file-names.ts';

export interface ContextRelayArtifactServiceOptions {
  /** Space of the artifact files; `adk-artifacts` by default. */
  readonly space?: string;
  /** Seconds until a version expires; by default it never does. */
  readonly ttl?: number;
}

type Scope = ListArtifactKeysRequest;
type Named = Scope & { readonly filename: string };

/** Stores artifacts as files of a relay, one file per version. All versions stay until the artifact is deleted. */
export class ContextRelayArtifactService implements BaseArtifactService {
  readonly #files: FileSpace;
  readonly #ttl: number | undefined;

  constructor(
    relay: ContextRelay,
    { space = 'adk-artifacts', ttl }: ContextRelayArtifactServiceOptions = {},
  ) {
    this.#files = relay.files.space(space);
    this.#ttl = ttl;
  }

  /** Stores a new version and returns its number. If another process takes the number first, uses the next one. */
  async saveArtifact(request: SaveArtifactRequest): Promise<number> {
    const { content, contentType, kind } = contentOf(request.artifact);
    const { filename, customMetadata = {} } = request;
    const metadata = { filename, kind, custom: customMetadata as JsonObject };
    const folder = await artifactFolder(request);
    const last = (await filesBelow(this.#files, folder)).at(-1);
    for (let version = last ? numberOf(last) + 1 : 0; ; version++) {
      try {
        const o = { contentType, metadata, ttl: this.#ttl, keep: 0, ifAbsent: true };
        await this.#files.put(folder + String(version).padStart(9, '0'), content, o);
        return version;
      } catch (error) {
        if (!isRelayError(error, 'file_changed')) throw error;
      }
    }
  }

  async loadArtifact(request: LoadArtifactRequest): Promise<Part | undefined> {
    const info = await this.#version(request);
    if (!info) return undefined;
    const bytes = await this.#files.bytes(info.path);
    if (info.metadata.kind === 'text') return { text: new TextDecoder().decode(bytes) };
    if (info.metadata.kind === 'file') return { fileData: JSON.parse(new TextDecoder().decode(bytes)) };
    return { inlineData: { data: toBase64(bytes), mimeType: info.content_type ?? undefined } };
  }

  /** Returns the names of the session's artifacts and of the artifacts that all sessions of the user share. */
  async listArtifactKeys(scope: ListArtifactKeysRequest): Promise<string[]> {
    const infos = [
      ...(await filesBelow(this.#files, await scopeFolder(scope, true))),
      ...(await filesBelow(this.#files, await scopeFolder(scope, false))),
    ];
    return [...new Set(infos.map(({ metadata }) => String(metadata.filename)))].sort();
  }

  async deleteArtifact(request: DeleteArtifactRequest): Promise<void> {
    await this.#files.remove({ prefix: await artifactFolder(request) });
  }

  async listVersions(request: ListVersionsRequest): Promise<number[]> {
    return (await filesBelow(this.#files, await artifactFolder(request))).map(numberOf);
  }

  async listArtifactVersions(request: ListVersionsRequest): Promise<ArtifactVersion[]> {
    return (await filesBelow(this.#files, await artifactFolder(request))).map(described);
  }

  async getArtifactVersion(request: LoadArtifactRequest): Promise<ArtifactVersion | undefined> {
    const info = await this.#version(request);
    return info && described(info);
  }

  async #version(request: LoadArtifactRequest): Promise<FileInfo | undefined> {
    const infos = await filesBelow(this.#files, await artifactFolder(request));
    const { version } = request;
    return version === undefined ? infos.at(-1) : infos.find((info) => numberOf(info) === version);
  }
}

/** Returns the folder of a session, or the folder that all sessions of a user share. */
async function scopeFolder({ appName, userId, sessionId }: Scope, shared: boolean): Promise<string> {
  return `${await segments([appName, userId])}/${shared ? 'user' : `=${await segment(sessionId)}`}/`;
}

async function artifactFolder(named: Named): Promise<string> {
  // ADK marks artifacts that all sessions of a user share with this prefix.
  const shared = named.filename.startsWith('user:');
  return `${await scopeFolder(named, shared)}${await segment(named.filename)}/`;
}

function numberOf({ path }: FileInfo): number {
  return Number(path.slice(path.lastIndexOf('/') + 1));
}

function described(info: FileInfo): ArtifactVersion {
  return {
    version: numberOf(info),
    canonicalUri: `relay://files/${info.space}/${info.path}`,
    customMetadata: info.metadata.custom as Record<string, unknown>,
    mimeType: info.content_type ?? undefined,
  };
}

function contentOf({ inlineData, text, fileData }: Part) {
  if (inlineData) {
    const contentType = inlineData.mimeType ?? 'application/octet-stream';
    const content = fromBase64(inlineData.data ?? '');
    if (content === null) throw badRequest('inlineData.data is not base64.');
    return { content, contentType, kind: 'bytes' };
  }
  if (text !== undefined) return { content: text, contentType: 'text/plain', kind: 'text' };
  if (fileData) {
    const contentType = fileData.mimeType ?? 'application/json';
    return { content: JSON.stringify(fileData), contentType, kind: 'file' };
  }
  throw badRequest('An artifact must have inlineData, text or fileData.');
}
