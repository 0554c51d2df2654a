import type { HookCallback, HookCallbackMatcher } from '@anthropic-ai/claude-agent-sdk';
import type { ContextRelay } from '../../sdk/context-relay.ts';
import { type LargeResultOptions, LargeResults } from '../large-results.ts';

/**
 * For `hooks` of a query: results of tools that are too large for the prompt reach the model as pointers. Give it the tools of
 * `contextRelayServer`, with which it reads what it needs.
 */
export function largeResultHooks(
  relay: ContextRelay,
  options: LargeResultOptions = {},
): { PostToolUse: HookCallbackMatcher[] } {
  const results = new LargeResults(relay, options);
  const swap: HookCallback = async (input, _id, { signal }) => {
    if (input.hook_event_name !== 'PostToolUse') return {};
    const before = input.tool_response;
    const updatedToolOutput = await swapped(before, (text) =>
      results.shown(text, input.tool_name, { signal }),
    );
    if (updatedToolOutput === before) return {};
    return { hookSpecificOutput: { hookEventName: 'PostToolUse', updatedToolOutput } };
  };
  return { PostToolUse: [{ hooks: [swap] }] };
}

/** Every tool answers in a form of its own, which has to stay: only the texts in it are swapped. The same value where none was. */
async function swapped(value: unknown, shown: (text: string) => Promise<string>): Promise<unknown> {
  if (typeof value === 'string') return shown(value);
  if (typeof value !== 'object' || value === null) return value;
  const entries = await Promise.all(
    Object.entries(value).map(async ([name, each]) => [name, await swapped(each, shown)] as const),
  );
  if (entries.every(([name, each]) => each === (value as Record<string, unknown>)[name])) return value;
  return Array.isArray(value) ? entries.map(([, each]) => each) : Object.fromEntries(entries);
}
