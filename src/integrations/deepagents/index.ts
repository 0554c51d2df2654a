/** `contextrelay/deepagents`. Any export here is API. */
export { ContextRelayBackend, type ContextRelayBackendOptions } from './backend.ts';
