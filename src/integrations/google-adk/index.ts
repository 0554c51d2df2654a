import { BasePlugin, BaseTool } from '@google/adk';
import type { FunctionDeclaration } from '@google/genai';
import type { ContextRelay } from '../../sdk/context-relay.ts';
import { type LargeResultOptions, LargeResults } from '../large-results.ts';
import { swapTexts } from '../prompt-results.ts';
import { type RelayTool, type RelayToolOptions, relayTools } from '../relay-tools.ts';

/** Entry point `contextrelay/google-adk`. Every export here is public API. */
export type { LargeResultOptions } from '../large-results.ts';
export type { RelayToolOptions } from '../relay-tools.ts';
export { ContextRelayArtifactService, type ContextRelayArtifactServiceOptions } from './artifacts.ts';
export { ContextRelaySessionService, type ContextRelaySessionServiceOptions } from './sessions.ts';

/** Returns `push_context`, `peek_context` and `pull_context`, for `new LlmAgent({ tools })`. */
export function contextRelayTools(relay: ContextRelay, options: RelayToolOptions = {}): BaseTool[] {
  return relayTools(relay, options).map((tool) => new AdkTool(tool));
}

class AdkTool extends BaseTool {
  readonly #tool: RelayTool;

  constructor(tool: RelayTool) {
    super({ name: tool.name, description: tool.description });
    this.#tool = tool;
  }

  override _getDeclaration(): FunctionDeclaration {
    return { name: this.name, description: this.description, parametersJsonSchema: this.#tool.schema };
  }

  override async runAsync({ args }: { args: Record<string, unknown> }): Promise<unknown> {
    return { result: await this.#tool.run(args, {}) };
  }
}

/**
 * Plugin for a runner. It replaces large texts in tool results with pointers. If a result is still too large, a
 * pointer replaces the whole result. Give the agent `pull_context` of `contextRelayTools`, so that it can read what it
 * needs.
 */
export class ContextRelayPlugin extends BasePlugin {
  readonly #results: LargeResults;

  constructor(relay: ContextRelay, options: LargeResultOptions = {}) {
    super('contextrelay');
    this.#results = new LargeResults(relay, options);
  }

  override async afterToolCallback({
    tool,
    result,
  }: {
    tool: BaseTool;
    result: Record<string, unknown>;
  }): Promise<Record<string, unknown> | undefined> {
    const after = await swapTexts(result, (text) => this.#results.replaceText(text, tool.name));
    if (typeof after !== 'object') return after === result ? undefined : { result: after };
    const json = JSON.stringify(after);
    const replaced = await this.#results.replaceText(json, tool.name);
    if (replaced !== json) return { result: replaced };
    return after === result ? undefined : (after as Record<string, unknown>);
  }
}
