/** `contextrelay/ai`. Any export here is API. */
export type { LargeResultOptions } from '../large-results.ts';
export type { RelayToolOptions } from '../relay-tools.ts';
export { largeResultMiddleware } from './middleware.ts';
export { type ContextRelayTools, contextRelayTools } from './tools.ts';
