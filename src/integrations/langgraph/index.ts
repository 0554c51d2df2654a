/** `contextrelay/langgraph`. Any export here is API. */
export { ContextRelaySaver, type ContextRelaySaverOptions } from './saver.ts';
export { ContextRelayStore, type ContextRelayStoreOptions } from './store.ts';
