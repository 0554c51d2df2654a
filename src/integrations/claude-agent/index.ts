/** `contextrelay/claude-agent`. Any export here is API. */
export type { LargeResultOptions } from '../large-results.ts';
export type { RelayToolOptions } from '../relay-tools.ts';
export { largeResultHooks } from './hooks.ts';
export { ContextRelaySessionStore, type ContextRelaySessionStoreOptions } from './session-store.ts';
export { contextRelayServer } from './tools.ts';
