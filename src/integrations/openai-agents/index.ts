/** `contextrelay/openai-agents`. Any export here is API. */
export type { LargeResultOptions } from '../large-results.ts';
export type { RelayToolOptions } from '../relay-tools.ts';
export { largeResultFilter } from './input-filter.ts';
export { ContextRelaySession, type ContextRelaySessionOptions } from './session.ts';
export { contextRelayTools } from './tools.ts';
