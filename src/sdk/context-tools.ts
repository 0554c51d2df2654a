/**
 * Names and descriptions of the three tools with which a model pushes, peeks and pulls. The MCP server and
 * all framework integrations use them. They are part of every prompt, so keep them short. A copy is in
 * python/src/contextrelay/mcp.py.
 */
export const PUSH_TOOL = {
  name: 'push_context',
  description:
    'Store a large text and get a short URL to hand to another agent instead of the text. Valid for 24 hours by default. Anyone with the URL can read it; on a relay with API keys, only your tenant.',
  input: {
    data: 'up to 25 MB',
    channel: 'channel to announce it on',
    encrypted: 'for secrets; keep the #key= part of the URL',
    summary: 'one line for peek_context',
  },
  doing: 'pushing context',
} as const;

export const PEEK_TOOL = {
  name: 'peek_context',
  description: 'Read what a relay URL or handle (relay:128) is about without pulling it. Use this first.',
  doing: 'peeking context',
} as const;

export const PULL_TOOL = {
  name: 'pull_context',
  description:
    'Read the text behind a relay URL or handle, or a part of it. If the text is very large, returns only its token count and its beginning.',
  input: { part: 'outline, lines=10-40, grep=REGEX, json=/a/b, question=TEXT, or all' },
  doing: 'pulling context',
} as const;

/** Hint for a model that received only a part of a payload. */
export const PULL_A_PART =
  'Pull a part: pull_context with part="outline", "lines=1-200", "grep=PATTERN" or "json=/path"; part="all" returns everything.';

/** Formats the metadata of a pointer for a model. */
export function peekText(metadata: object): string {
  const empty = Object.keys(metadata).length === 0;
  return empty ? '(no metadata available)' : JSON.stringify(metadata, null, 2);
}
