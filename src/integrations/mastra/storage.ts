import { MastraCompositeStore } from '@mastra/core/storage';
import type { ContextRelay } from '../../sdk/context-relay.ts';
import { ContextRelayMemory } from './memory.ts';

export interface ContextRelayStorageOptions {
  /** The space of files that conversations are in; `mastra` by default. */
  readonly space?: string;
  /** Where what is not kept here is kept: workflows, traces, scores. Without it Mastra does without them. */
  readonly default?: MastraCompositeStore;
}

/** For `storage` of Mastra or of a memory: threads, messages and working memory as files of a relay. */
export class ContextRelayStorage extends MastraCompositeStore {
  constructor(relay: ContextRelay, options: ContextRelayStorageOptions = {}) {
    super({
      id: 'contextrelay',
      name: 'ContextRelayStorage',
      default: options.default,
      domains: { memory: new ContextRelayMemory(relay.files.space(options.space ?? 'mastra')) },
    });
  }
}
