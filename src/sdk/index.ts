/** Any export here is API: adding one is a promise, removing one breaks somebody. */
export { type ErrorCode, RelayError } from '../base/errors.ts';
export type { Json, JsonObject } from '../base/json.ts';
export type { Part, PartRequest } from '../base/parts/part-request.ts';
export type { TokenCount, TokenCounter } from '../base/tokens.ts';
export type { Cost, Peeked, Pushed, Visibility } from '../domain/pointers/types.ts';
export { ContextRelay } from './context-relay.ts';
export type {
  CallOptions,
  ContextRelayOptions,
  PullBytesOptions,
  PushData,
  PushOptions,
} from './options.ts';
