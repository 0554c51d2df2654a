/** Entry point `contextrelay/langgraph`. Every export here is public API. */
export { ContextRelaySaver, type ContextRelaySaverOptions } from './saver.ts';
export { ContextRelayStore, type ContextRelayStoreOptions } from './store.ts';
