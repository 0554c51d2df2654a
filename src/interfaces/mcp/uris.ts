import { percentDecoded } from '../../base/utf8.ts';
import type { Link } from './tool.ts';

/** How resources are named; what stands in a place of a template is percent-encoded. */
export const POINTER_URI = 'relay://pointer/{id}';
export const CHANNEL_URI = 'relay://channel/{name}';
export const STATE_URI = 'relay://thread/{id}/state';

export interface ResourceName {
  readonly kind: 'pointer' | 'channel' | 'thread';
  /** The name, of a channel. */
  readonly id: string;
}

export function pointerLink(id: string, name = 'the payload'): Link {
  return { uri: POINTER_URI.replace('{id}', id), name };
}

export function stateLink(id: string): Link {
  return { uri: STATE_URI.replace('{id}', id), name: 'the state of the thread' };
}

export function channelUri(name: string): string {
  return CHANNEL_URI.replace('{name}', encodeURIComponent(name));
}

/** Null for a URI that is none of ours. */
export function readUri(uri: string): ResourceName | null {
  const [, kind, encoded, state] =
    /^relay:\/\/(pointer|channel|thread)\/([^/?#]+)(\/state)?$/.exec(uri) ?? [];
  const id = encoded === undefined ? null : percentDecoded(encoded);
  if (id === null || (kind === 'thread') !== (state !== undefined)) return null;
  return { kind: kind as ResourceName['kind'], id };
}
