/** `contextrelay/langchain`. Any export here is API. */
export type { LargeResultOptions } from '../large-results.ts';
export type { RelayToolOptions } from '../relay-tools.ts';
export {
  ContextRelayCallbackHandler,
  type ContextRelayCallbackOptions,
  type PushedOutput,
} from './callback-handler.ts';
export { largeResultMiddleware } from './middleware.ts';
export { ContextRelayRetriever, type ContextRelayRetrieverInput } from './retriever.ts';
export { ContextRelayByteStore, type ContextRelayByteStoreOptions } from './store.ts';
export { contextRelayTools } from './tools.ts';
