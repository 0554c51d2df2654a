/** The kinds of content that are told apart. */
export const CONTENT_KINDS = ['markdown', 'json', 'html', 'text', 'binary', 'tool_output', 'email'] as const;
