/** `contextrelay/mastra`. Any export here is API. */
export type { LargeResultOptions } from '../large-results.ts';
export type { RelayToolOptions } from '../relay-tools.ts';
export { largeResultProcessor } from './processor.ts';
export { ContextRelayStorage, type ContextRelayStorageOptions } from './storage.ts';
export { type ContextRelayTools, contextRelayTools } from './tools.ts';
